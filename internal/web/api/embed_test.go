package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// look reads what a player on a page of another site reads.
func (r *rig) look(path string, headers ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	return do(r.handler, q)
}

// embedURL returns the path of the embed page of a private video, which says so many seconds who may see it.
func (r *rig) embedPathOf(id video.ID, seconds string) string {
	r.T.Helper()
	var read struct{ EmbedURL string }
	r.decode(r.ask("GET", "/api/video/"+string(id)+"/private/"+seconds, ""), &read)
	_, path, ok := strings.Cut(read.EmbedURL, "/embed/")
	if !ok {
		r.T.Fatalf("the embed page is at %s", read.EmbedURL)
	}
	return "/embed/" + path
}

func TestPlayersReadWhatTheyPlayWithoutAKey(t *testing.T) {
	t.Parallel()
	doc, s := strictDescription(t), newScene(t, Config{RateLimit: 100})
	for _, tt := range []struct{ name, path, described, cache string }{
		{"a public video", "/embed/{public}.json", "/embed/{id}.json", "public, max-age=30"},
		{"a private one", s.embedPathOf(video.ID(s.ids["{private}"]), "60") + ".json", "/embed/{token}/{id}.json", "no-store"},
	} {
		w := s.look(s.fill(tt.path), "Origin", "https://example.com")
		if h := w.Header(); w.Code != 200 || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Cache-Control") != tt.cache || h.Get("Content-Type") != "application/json" || h.Get("Vary") != "" {
			t.Fatalf("%s: the answer is %d %v %s", tt.name, w.Code, h, w.Body)
		}
		validate(t, schemaAt(t, doc, "paths", tt.described, "get", "responses", "200", "content", "application/json", "schema"), w.Body.Bytes())
		if head := do(s.handler, request("HEAD", s.fill(tt.path), "")); head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != w.Header().Get("Content-Length") {
			t.Errorf("%s: HEAD is answered %d %v", tt.name, head.Code, head.Header())
		}
		w = do(s.handler, request("OPTIONS", s.fill(tt.path), ""))
		if w.Code != 204 || w.Header().Get("Access-Control-Allow-Methods") != "GET, HEAD" {
			t.Errorf("%s: OPTIONS is answered %d %v", tt.name, w.Code, w.Header())
		}
		wantProblem(t, do(s.handler, request("POST", s.fill(tt.path), "{}")), 405, "method_not_allowed")
	}
}

// A read without a key has the addresses of the read with one, and nothing that the publisher keeps for himself.
func TestReadsWithoutAKeyTellWhatIsPlayedAndNoMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Ready(servicetest.Plan("720p", "240p"))
	r.ask("PATCH", "/api/video/"+string(v.ID), `{"title":"A film","customMetadata":{"customer":"a secret"},"tags":["a secret"],"expiresAt":"2099-01-01T00:00:00Z"}`)
	var open, full map[string]any
	r.decode(r.look("/embed/"+string(v.ID)+".json"), &open)
	r.decode(r.ask("GET", "/api/video/"+string(v.ID)+"/public", ""), &full)
	if text := r.look("/embed/" + string(v.ID) + ".json").Body.String(); strings.Contains(text, "a secret") || strings.Contains(text, "2099") || strings.Contains(text, v.Filename) {
		t.Errorf("everybody reads %s", text)
	}
	if open["playsUrl"] != "http://example.com/api/play/"+string(v.ID) {
		t.Errorf("players report to %v", open["playsUrl"])
	}
	delete(open, "playsUrl")
	known := []string{"id", "title", "status", "isPublic", "resolutions", "hlsUrl", "dashUrl", "embedUrl", "watchUrl", "posterUrl", "thumbnailUrl",
		"storyboardUrl", "previewUrl", "audioTracks", "audioUrl", "captions", "chapters", "chaptersUrl", "durationSeconds", "progress", "playable", "failure"}
	for name, value := range open {
		if !slices.Contains(known, name) {
			t.Errorf("everybody reads %s: %v", name, value)
		}
		if name != "resolutions" && wire(t, value) != wire(t, full[name]) {
			t.Errorf("%s is %v without a key, and %v with one", name, value, full[name])
		}
	}
	for name, resolution := range open["resolutions"].(map[string]any) {
		for field, value := range resolution.(map[string]any) {
			if other := full["resolutions"].(map[string]any)[name].(map[string]any)[field]; wire(t, value) != wire(t, other) {
				t.Errorf("%s of %s is %v without a key, and %v with one", field, name, value, other)
			}
		}
	}
}

func TestReadsWithoutAKeyAreRefusedAsPagesAre(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	public, private := r.Create(video.Draft{IsPublic: true}).Video.ID, r.Create(video.Draft{}).Video.ID
	signed := r.embedPathOf(private, "60")
	token := strings.Split(signed, "/")[2]
	for _, tt := range []struct {
		name, path string
		status     int
		code       string
	}{
		{"a private video without a token", "/embed/" + string(private) + ".json", 404, "video_not_found"},
		{"a video that does not exist", "/embed/" + testID + ".json", 404, "video_not_found"},
		{"no id", "/embed/42.json", 404, "video_not_found"},
		{"nothing", "/embed/.json", 404, "video_not_found"},
		{"too long a path", "/embed/a/b/" + string(public) + ".json", 404, "not_found"},
		{"the token of another video", "/embed/" + token + "/" + string(public) + ".json", 403, "url_invalid"},
		{"a changed token", "/embed/x" + token + "/" + string(private) + ".json", 403, "url_invalid"},
		{"a token of something else", "/embed/" + r.Signing.Sign(sign.Page, string(private), r.Now().Add(time.Hour)) + "/" + string(private) + ".json", 403, "url_invalid"},
	} {
		w := r.look(tt.path)
		if wantProblem(t, w, tt.status, tt.code); w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the headers are %v", tt.name, w.Header())
		}
	}
	r.Advance(time.Minute)
	wantProblem(t, r.look(signed+".json"), 403, "url_expired")
	r.Must(r.Deleter.DeleteVideo(t.Context(), r.By, public))
	wantProblem(t, r.look("/embed/"+string(public)+".json"), 404, "video_not_found")
}

func TestReadsWithoutAKeyAskForTheOrigin(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	for _, public := range []bool{true, false} {
		id := r.Create(video.Draft{IsPublic: public}).Video.ID
		path := "/embed/" + string(id)
		if !public {
			path = r.embedPathOf(id, "60")
		}
		for _, tt := range []struct {
			rule    string
			headers []string
			allowed bool
		}{
			{`{"allowedOrigins":["example.org"]}`, []string{"Origin", "https://example.org"}, true},
			{`{"allowedOrigins":["example.org"]}`, []string{"Referer", "https://example.org/film"}, true},
			{`{"allowedOrigins":["example.org"]}`, []string{"Origin", "http://example.com"}, true}, // this server
			{`{"allowedOrigins":["example.org"]}`, []string{"Origin", "https://evil.com"}, false},
			{`{"allowedOrigins":["example.org"]}`, []string{"Origin", "null"}, false},
			{`{"allowedOrigins":["example.org"]}`, nil, false},
			{`{"allowedOrigins":[]}`, []string{"Origin", "https://example.org"}, false},
			{`{"allowedOrigins":["example.org"],"allowNoOrigin":true}`, nil, true},
		} {
			if w := r.ask("PATCH", "/api/video/"+string(id), tt.rule); w.Code != 200 {
				t.Fatalf("the rule is answered %d %s", w.Code, w.Body)
			}
			w := r.look(path+".json", tt.headers...)
			if h := w.Header(); h.Get("Cache-Control") != "no-store" || h.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s, public %t, %v: the headers are %v", tt.rule, public, tt.headers, h)
			}
			if !tt.allowed {
				wantProblem(t, w, 403, "origin_not_allowed")
				continue
			}
			var read struct{ HLSURL string }
			r.decode(w, &read)
			if token := strings.Split(read.HLSURL, "/")[4]; w.Code != http.StatusOK || w.Header().Get("Vary") != "Origin, Referer" || r.Signing.Verify(t.Context(), sign.Page, "public/"+string(id), token) == nil {
				t.Errorf("%s, public %t, %v: the answer is %d %v; it plays %s, which asks for no origin", tt.rule, public, tt.headers, w.Code, w.Header(), read.HLSURL)
			}
		}
	}
}

func TestReadsWithoutAKeyAreLimited(t *testing.T) {
	t.Parallel()
	for _, limited := range []bool{true, false} {
		config := Config{}
		if limited {
			config.RateLimit = 1
		}
		r := newRig(t, config)
		id := r.Create(video.Draft{IsPublic: true}).Video.ID
		var w *httptest.ResponseRecorder
		for range embedBurst + 50 {
			w = r.look("/embed/" + string(id) + ".json")
		}
		if limited {
			wantProblem(t, w, 429, "rate_limited")
		} else if w.Code != http.StatusOK {
			t.Errorf("without a limit, the answer is %d", w.Code)
		}
	}
}

func TestNothingIsReportedWhereNothingIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{}, func(c *servicetest.Config) { c.Audience.Days = 1 })
	var read map[string]any
	r.Must(json.Unmarshal(r.look("/embed/"+string(r.Create(video.Draft{IsPublic: true}).Video.ID)+".json").Body.Bytes(), &read))
	if url, has := read["playsUrl"]; has {
		t.Errorf("players report to %v", url)
	}
}
