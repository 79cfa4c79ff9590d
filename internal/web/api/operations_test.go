package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

func TestCreateVideo(t *testing.T) {
	t.Parallel()
	f := &fakeService{}
	w := do(newHandler(t, f, Config{}), request("POST", "/api/video", `{
		"filename": "Müller & <Söhne>.mp4", "title": "Söhne", "resolutions": ["720p", "144p", "720p"], "isPublic": false,
		"thumbnailTimestampsSeconds": [0, 1.5], "customMetadata": { "b" : 1e2, "a": null }, "upscale": true, "unknown": {}}`))

	const want = `{"id":"` + testID + `","uploadUrl":"http://example.com/upload/17.k1.sig/` + testID + `","contentType":"video/mp4",` +
		`"isPublic":false,"resolutions":{"720p":{"status":"pending_upload"},"144p":{"status":"pending_upload"},"720p":{"status":"pending_upload"}},` +
		`"uploadExpiresAt":"2030-01-02T12:00:00Z","maxUploadBytes":5368709120,` +
		`"tusUrl":"http://example.com/upload/tus/17.k1.sig/` + testID + `"}`
	if w.Code != http.StatusCreated || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("answer is %d %s\nwant 201 %s", w.Code, w.Body, want)
	}
	checkHeaders(t, w.Header())
	wantDraft := video.Draft{
		Filename: "Müller & <Söhne>.mp4", Title: "Söhne", Resolutions: []video.Name{"720p", "144p", "720p"},
		Thumbnails: []float64{0, 1.5}, Metadata: json.RawMessage(`{"b":1e2,"a":null}`), Upscale: new(true),
	}
	if diff := cmp.Diff(wantDraft, f.draft); diff != "" {
		t.Errorf("draft (-want +got):\n%s", diff)
	}
	if f.actor.KeyID != "k1" {
		t.Errorf("the actor is %+v", f.actor)
	}
}

func TestCreateVideoWithKey(t *testing.T) {
	t.Parallel()
	const body = `{"filename": "a.mp4", "resolutions": ["720p"], "isPublic": true}`
	tests := []struct {
		name, key string
		repeated  bool
		want      int
		says      string // in the answer
	}{
		{name: "a key", key: "order-17", want: 201},
		{name: "a key that was used before", key: "order 17", repeated: true, want: 201},
		{name: "the longest key", key: strings.Repeat("k", 255), want: 201},
		{name: "a key that is too long", key: strings.Repeat("k", 256), want: 400, says: `"field":"Idempotency-Key"`},
		{name: "a key with odd characters", key: "schlüssel", want: 400, says: "printable ASCII"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fakeService{repeated: tt.repeated}
			r := request("POST", "/api/video", body)
			r.Header.Set("Idempotency-Key", tt.key)
			w := do(newHandler(t, f, Config{}), r)
			if w.Code != tt.want || !strings.Contains(w.Body.String(), tt.says) {
				t.Fatalf("answer is %d %s\nwant %d %s", w.Code, w.Body, tt.want, tt.says)
			}
			if tt.want == 201 && f.draft.Key != tt.key {
				t.Errorf("the key arrived as %q", f.draft.Key)
			}
			if got := w.Header().Get("Idempotency-Replayed") == "true"; got != tt.repeated {
				t.Errorf("the header says that the request was repeated: %t, want %t", got, tt.repeated)
			}
		})
	}
}

func checkHeaders(t *testing.T, h http.Header) {
	t.Helper()
	if got := h.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	if got := h.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	if got := h.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options is %q", got)
	}
	if got := h.Get("Link"); got != "" {
		t.Errorf("there is a Link header: %q", got)
	}
}

func TestCompleteUpload(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, contentType string }{
		{"no body", "", ""},
		{"no body but a type", "", "application/json"},
		{"no body and another type", "", "application/x-www-form-urlencoded"},
		{"white space", " \n", "text/plain"},
		{"an empty object", "{}", "application/json"},
		{"a checksum", `{"checksum":"abc"}`, "application/json; charset=utf-8"},
		{"a null checksum", `{"checksum":null}`, "application/vnd.spool+json"},
		{"an unknown field", `{"other":[1]}`, "application/json"},
	}
	const want = `{"id":"` + testID + `","isPublic":true,"resolutions":{"720p":{"status":"processing"},"144p":{"status":"processing"}}}`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fakeService{}
			r := request("POST", "/api/video/"+strings.ToUpper(testID)+"/complete-upload", tt.body)
			r.Header.Set("Content-Type", tt.contentType)
			w := do(newHandler(t, f, Config{}), r)
			if w.Code != http.StatusCreated || strings.TrimSpace(w.Body.String()) != want {
				t.Errorf("answer is %d %s\nwant 201 %s", w.Code, w.Body, want)
			}
			if f.id != testID {
				t.Errorf("completed %q", f.id)
			}
		})
	}
}

// readyPlayback is a private video with all fields set.
func readyPlayback() catalog.PlaybackInfo {
	return catalog.PlaybackInfo{State: readyState(), URLs: playback.URLs{HLS: "http://h/v/1.k.t/x/master.m3u8", DASH: "http://h/v/1.k.t/x/manifest.mpd", Files: []playback.FileURL{{File: video.File{Name: "poster.jpg"}, URL: "http://h/v/1.k.p/x/poster.jpg"}}, Resolutions: map[video.Name]playback.ResolutionURLs{
		"720p": {Rendition: "http://h/v/1.k.s/x/720p.mp4?a=1&b=2", Thumbnails: []string{"http://h/v/1.k.s/x/720p-0.jpg"}},
		"144p": {Rendition: "http://h/v/1.k.s/x/144p.mp4"},
	}}}
}

func TestPrivateVideo(t *testing.T) {
	t.Parallel()
	f := &fakeService{playback: readyPlayback()}
	w := do(newHandler(t, f, Config{}), request("GET", "/api/video/"+testID+"/private/31536000", ""))

	const want = `{"id":"` + testID + `","title":"A film","status":"ready","isPublic":false,"customMetadata":{"url":"a&b<c>","n":12345678901234567890},"resolutions":{` +
		`"720p":{"id":"` + resolutionID + `","status":"ready","videoUrl":"http://h/v/1.k.s/x/720p.mp4?a=1&b=2","thumbnailImageUrls":["http://h/v/1.k.s/x/720p-0.jpg"],` +
		`"width":1280,"height":720,"sizeBytes":1000,"bitrate":3200,"progress":1},` +
		`"144p":{"id":"` + resolutionID + `","status":"fail","videoUrl":"http://h/v/1.k.s/x/144p.mp4","thumbnailImageUrls":[],"progress":0.5,` +
		`"failure":{"code":"limit_time","message":"It took too long."}}},"hlsUrl":"http://h/v/1.k.t/x/master.m3u8","dashUrl":"http://h/v/1.k.t/x/manifest.mpd","posterUrl":"http://h/v/1.k.p/x/poster.jpg","captions":[],` +
		`"createdAt":"2030-01-02T11:00:00Z","durationSeconds":2.5,"progress":1,"playable":true,"warnings":[{"code":"truncated","message":"It is cut off."}]}`
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("answer is %d\n%s\nwant 200\n%s", w.Code, w.Body, want)
	}
	checkHeaders(t, w.Header())
	if f.ttl != 31536000*time.Second || f.id != testID || f.base != "http://example.com" {
		t.Errorf("asked for %s, %s, %s", f.id, f.ttl, f.base)
	}
}

func TestPublicVideoWithMinimalFields(t *testing.T) {
	t.Parallel()
	v := testVideo(true, video.Fail)
	v.Failure = video.Failf(video.NotAVideo, "It is a text.")
	f := &fakeService{playback: catalog.PlaybackInfo{State: catalog.State{Video: v}}}
	w := do(newHandler(t, f, Config{}), request("GET", "/api/video/"+testID+"/public", ""))

	const want = `{"id":"` + testID + `","title":"A film","status":"fail","isPublic":true,"customMetadata":null,"resolutions":{},` +
		`"captions":[],"createdAt":"2030-01-02T11:00:00Z","progress":0,"playable":false,"failure":{"code":"not_a_video","message":"It is a text."}}`
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("answer is %d\n%s\nwant 200\n%s", w.Code, w.Body, want)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	f := &fakeService{}
	h := newHandler(t, f, Config{})
	for _, path := range []string{"/api/video/" + testID, "/api/video/resolution/" + resolutionID} {
		w := do(h, request("DELETE", path, ""))
		if w.Code != http.StatusOK || w.Body.Len() != 0 {
			t.Errorf("DELETE %s answers %d %q, want 200 and no body", path, w.Code, w.Body)
		}
	}
	if f.id != testID || f.resolution != resolutionID || f.calls != 2 {
		t.Errorf("deleted video %q and resolution %q in %d calls", f.id, f.resolution, f.calls)
	}
}

func TestAcceptHeaderChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &fakeService{playback: readyPlayback()}, Config{})
	for _, accept := range []string{"", "*/*", "text/html", "application/cbor", "application/problem+json", "json", "application/json;q=0"} {
		r := request("GET", "/api/video/"+testID+"/public", "")
		r.Header.Set("Accept", accept)
		w := do(h, r)
		if w.Code != 200 {
			t.Errorf("Accept %q: answer is %d %s", accept, w.Code, w.Body)
		}
		checkHeaders(t, w.Header())
	}
}
