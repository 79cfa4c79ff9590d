package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestCreateVideo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	w := r.ask("POST", "/api/video", `{
		"filename": "Müller & <Söhne>.mp4", "title": "Söhne", "resolutions": ["720p", "144p", "720p"], "isPublic": false,
		"thumbnailTimestampsSeconds": [0, 1.5], "customMetadata": { "b" : 1e2, "a": null }, "upscale": true, "unknown": {}}`)
	var made struct{ ID, UploadURL, TusURL string }
	r.decode(w, &made)
	const address = "http://example.com/upload/"
	if !strings.HasPrefix(made.UploadURL, address) || !strings.HasSuffix(made.UploadURL, "/"+made.ID) || !strings.HasPrefix(made.TusURL, address+"tus/") {
		t.Errorf("the addresses are %+v", made)
	}
	want := `{"id":"` + made.ID + `","uploadUrl":"` + made.UploadURL + `","contentType":"video/mp4",` +
		`"isPublic":false,"resolutions":{"720p":{"status":"pending_upload"},"144p":{"status":"pending_upload"}},` +
		`"uploadExpiresAt":"2030-01-02T13:00:00Z","maxUploadBytes":1048576,"tusUrl":"` + made.TusURL + `"}`
	if w.Code != http.StatusCreated || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("answer is %d %s\nwant 201 %s", w.Code, w.Body, want)
	}
	checkHeaders(t, w.Header())
	v := r.Video(video.ID(made.ID))
	if v.Filename != "Müller & <Söhne>.mp4" || v.Title != "Söhne" || string(v.Metadata) != `{"b":1e2,"a":null}` || !v.Upscale || v.Tenant != r.By.Tenant {
		t.Errorf("the video is %+v", v)
	}
	if diff := cmp.Diff([]float64{0, 1.5}, v.Thumbnails); diff != "" {
		t.Errorf("thumbnails (-want +got):\n%s", diff)
	}
}

func TestCreateVideoWithKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, key string
		want      int
		says      string // in the answer
	}{
		{name: "a key", key: "order 17", want: 201},
		{name: "the longest key", key: strings.Repeat("k", 255), want: 201},
		{name: "a key that is too long", key: strings.Repeat("k", 256), want: 400, says: `"field":"Idempotency-Key"`},
		{name: "a key with odd characters", key: "schlüssel", want: 400, says: "printable ASCII"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Config{})
			var first string
			for _, repeated := range []bool{false, true} {
				q := request("POST", "/api/video", `{"filename": "a.mp4", "resolutions": ["720p"], "isPublic": true}`)
				q.Header.Set("Idempotency-Key", tt.key)
				w := r.send(q)
				if w.Code != tt.want || !strings.Contains(w.Body.String(), tt.says) {
					t.Fatalf("answer is %d %s\nwant %d %s", w.Code, w.Body, tt.want, tt.says)
				}
				if w.Code != http.StatusCreated {
					return
				}
				if got := w.Header().Get("Idempotency-Replayed") == "true"; got != repeated {
					t.Errorf("the header says that the request was repeated: %t, want %t", got, repeated)
				}
				var made struct{ ID string }
				if r.decode(w, &made); repeated && made.ID != first {
					t.Errorf("the repeated request made another video")
				}
				first = made.ID
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
	r := newRig(t, Config{})
	for _, tt := range tests {
		up := r.Create(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p", "144p"}})
		r.Put(up, servicetest.LikeVideo)
		id := string(up.Video.ID)
		q := request("POST", "/api/video/"+strings.ToUpper(id)+"/complete-upload", tt.body)
		q.Header.Set("Content-Type", tt.contentType)
		want := `{"id":"` + id + `","isPublic":true,"resolutions":{"720p":{"status":"processing"},"144p":{"status":"processing"}}}`
		if w := r.send(q); w.Code != http.StatusCreated || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: answer is %d %s\nwant 201 %s", tt.name, w.Code, w.Body, want)
		}
	}
}

// readyPlayback is a private video with all fields set.
func readyPlayback() catalog.PlaybackInfo {
	return catalog.PlaybackInfo{State: readyState(), URLs: playback.URLs{HLS: "http://h/v/1.k.t/x/master.m3u8", DASH: "http://h/v/1.k.t/x/manifest.mpd", Files: []playback.FileURL{{File: video.File{Name: "poster.jpg"}, URL: "http://h/v/1.k.p/x/poster.jpg"}}, Resolutions: map[video.Name]playback.ResolutionURLs{
		"720p": {Rendition: "http://h/v/1.k.s/x/720p.mp4?a=1&b=2", Thumbnails: []string{"http://h/v/1.k.s/x/720p-0.jpg"}},
		"144p": {Rendition: "http://h/v/1.k.s/x/144p.mp4"},
	}}}
}

func TestViewOfAVideo(t *testing.T) {
	t.Parallel()
	const full = `{"id":"` + testID + `","title":"A film","status":"ready","isPublic":false,"customMetadata":{"url":"a&b<c>","n":12345678901234567890},"resolutions":{` +
		`"720p":{"id":"` + resolutionID + `","status":"ready","videoUrl":"http://h/v/1.k.s/x/720p.mp4?a=1&b=2","thumbnailImageUrls":["http://h/v/1.k.s/x/720p-0.jpg"],` +
		`"width":1280,"height":720,"sizeBytes":1000,"bitrate":3200,"method":"encoded","progress":1},` +
		`"144p":{"id":"` + resolutionID + `","status":"fail","videoUrl":"http://h/v/1.k.s/x/144p.mp4","thumbnailImageUrls":[],"progress":0.5,` +
		`"failure":{"code":"limit_time","message":"It took too long."}}},"tags":[],"hlsUrl":"http://h/v/1.k.t/x/master.m3u8","dashUrl":"http://h/v/1.k.t/x/manifest.mpd","posterUrl":"http://h/v/1.k.p/x/poster.jpg","audioTracks":[],"captions":[],"chapters":[],` +
		`"createdAt":"2030-01-02T11:00:00Z","durationSeconds":2.5,"sizeBytes":3000,"progress":1,"playable":true,"warnings":[{"code":"truncated","message":"It is cut off."}]}`
	if got := wire(t, viewPlayback(readyPlayback())); got != full {
		t.Errorf("a ready video is\n%s\nwant\n%s", got, full)
	}
	v := testVideo(true, video.Fail)
	v.Failure = video.Failf(video.NotAVideo, "It is a text.")
	const bare = `{"id":"` + testID + `","title":"A film","status":"fail","isPublic":true,"customMetadata":null,"resolutions":{},"tags":[],` +
		`"audioTracks":[],"captions":[],"chapters":[],"createdAt":"2030-01-02T11:00:00Z","sizeBytes":0,"progress":0,"playable":false,"failure":{"code":"not_a_video","message":"It is a text."}}`
	if got := wire(t, viewPlayback(catalog.PlaybackInfo{State: catalog.State{Video: v}})); got != bare {
		t.Errorf("a failed video is\n%s\nwant\n%s", got, bare)
	}
}

func TestReadVideo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	public, private := r.Ready(servicetest.Plan("720p", "240p")), r.Processing(video.Draft{})
	for path, start := range map[string]string{
		"/api/video/" + string(public.ID) + "/public":            "http://example.com/v/" + string(public.ID) + "/",
		"/api/video/" + string(private.ID) + "/private/31536000": "http://example.com/v/" + "1925121600000.", // the end of the year
	} {
		w := r.ask("GET", path, "")
		var got struct{ HLSURL string }
		if r.decode(w, &got); w.Code != http.StatusOK || !strings.HasPrefix(got.HLSURL, start) {
			t.Errorf("%s is answered %d %s; want an hlsUrl that begins with %s", path, w.Code, w.Body, start)
		}
		checkHeaders(t, w.Header())
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Ready(servicetest.Plan("720p", "240p"))
	for _, path := range []string{"/api/video/resolution/" + string(v.Resolutions[0].ID), "/api/video/" + string(v.ID)} {
		w := r.ask("DELETE", path, "")
		if w.Code != http.StatusOK || w.Body.Len() != 0 {
			t.Errorf("DELETE %s answers %d %q, want 200 and no body", path, w.Code, w.Body)
		}
		if w := r.ask("DELETE", path, ""); w.Code != http.StatusNotFound {
			t.Errorf("the second DELETE %s answers %d", path, w.Code)
		}
	}
}

func TestEditVideo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Create(video.Draft{Filename: "a.mp4", Title: "A film", Metadata: json.RawMessage(`{"b":1}`)}).Video
	for _, tt := range []struct{ body, title, metadata string }{
		{`{"title":"Söhne"}`, "Söhne", `{"b":1}`},
		{`{"customMetadata":{ "a" : 1e2 }}`, "Söhne", `{"a":1e2}`},
		{`{"title":null}`, "a", `{"a":1e2}`},
		{`{"title":"","customMetadata":null}`, "a", ``},
	} {
		w := r.ask("PATCH", "/api/video/"+string(v.ID), tt.body)
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"id":"`+string(v.ID)+`","filename":"a.mp4","title":"`+tt.title+`",`) {
			t.Errorf("%s: answer is %d %s", tt.body, w.Code, w.Body)
		}
		if got := r.Video(v.ID); got.Title != tt.title || string(got.Metadata) != tt.metadata {
			t.Errorf("%s: the video has the title %q and the metadata %s", tt.body, got.Title, got.Metadata)
		}
	}
}

// A field that PATCH ignored would look changed to the client.
func TestEditRefusesUnknownFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Create(video.Draft{Filename: "a.mp4", Title: "A film"}).Video
	hook := r.newWebhook(`{"url":"https://1.1.1.1/a","events":["video.ready"]}`)
	for path, known := range map[string]string{"/api/video/" + string(v.ID): "title, customMetadata", hook: "url, events, description, enabled"} {
		w := r.ask("PATCH", path, `{"title":"Other","enabled":false,"filename":"b.mp4"}`)
		p := wantProblem(t, w, 400, "invalid_request")
		if words := faultWords(p); !slices.Contains(words, "filename not_allowed") || !strings.Contains(w.Body.String(), known) {
			t.Errorf("PATCH %s: %s; want filename refused, and %s named", path, w.Body, known)
		}
	}
	if got := r.Video(v.ID); got.Title != "A film" {
		t.Errorf("the title is %q", got.Title)
	}
	if w := r.ask("GET", hook, ""); !strings.Contains(w.Body.String(), `"enabled":true`) {
		t.Errorf("the webhook is %s", w.Body)
	}
}

func TestAcceptHeaderChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Create(video.Draft{}).Video
	for _, accept := range []string{"", "*/*", "text/html", "application/cbor", "application/problem+json", "json", "application/json;q=0"} {
		q := request("GET", "/api/video/"+string(v.ID), "")
		q.Header.Set("Accept", accept)
		w := r.send(q)
		if w.Code != 200 {
			t.Errorf("Accept %q: answer is %d %s", accept, w.Code, w.Body)
		}
		checkHeaders(t, w.Header())
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	u := video.Usage{
		Videos: 3, Bytes: 1 << 40, LengthToday: 93*time.Minute + 15*time.Second, InWork: 2,
		Limits: video.Limits{Videos: 10, Bytes: 1 << 41, MinutesPerDay: 100.5, InWork: 4},
	}
	const want = `{"videos":3,"bytes":1099511627776,"minutesToday":93.25,"inWork":2,` +
		`"limits":{"maxVideos":10,"maxBytes":2199023255552,"maxMinutesPerDay":100.5,"maxInWork":4}}`
	if got := wire(t, viewUsage(u)); got != want {
		t.Errorf("usage is %s, want %s", got, want)
	}
	r := newRig(t, Config{})
	r.Processing(video.Draft{})
	const asked = `{"videos":1,"bytes":424,"minutesToday":0,"inWork":1,"limits":{"maxVideos":0,"maxBytes":0,"maxMinutesPerDay":0,"maxInWork":0},"bytesSent":0}`
	if w := r.ask("GET", "/api/usage", ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != asked {
		t.Errorf("answer is %d %s, want %s", w.Code, w.Body, asked)
	}
}

func TestTenants(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	for _, name := range []video.Tenant{"acme", "beta"} {
		_, err := r.Tenants.SetLimits(t.Context(), name, func(l *video.Limits) { l.Videos = 10 })
		r.Must(err)
	}
	const want = `{"tenants":[{"name":"beta","videos":0,"bytes":0,"minutesToday":0,"inWork":0,` +
		`"limits":{"maxVideos":10,"maxBytes":0,"maxMinutesPerDay":0,"maxInWork":0}}],"nextCursor":"YmV0YQ"}`
	if w := r.ask("GET", "/api/tenant?limit=1&cursor=YWNtZQ", ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("answer is %d %s, want %s", w.Code, w.Body, want)
	}
	for _, query := range []string{"cursor=YWNtZR", "cursor=_w", "cursor=" + strings.Repeat("YWNt", 34)} {
		wantProblem(t, r.ask("GET", "/api/tenant?"+query, ""), 400, "invalid_request")
	}
}
