package delivery

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const digits = "0123456789"

func TestPlayPublic(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	w := do(newHandler(f, Config{}), "GET", "/v/"+strings.ToUpper(testID)+"/720p.mp4")
	if w.Code != 200 || w.Body.String() != digits || f.id != testID || f.file != "720p.mp4" {
		t.Errorf("answer is %d %q of %s/%s", w.Code, w.Body, f.id, f.file)
	}
	for name, want := range map[string]string{
		"Content-Type": "video/mp4", "Content-Length": "10", "Content-Disposition": "inline", "ETag": `"e1"`,
		"Last-Modified": "Wed, 02 Jan 2030 12:00:00 GMT", "Accept-Ranges": "bytes", "Cache-Control": "public, max-age=3600, immutable",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox allow-scripts", "Access-Control-Allow-Origin": "*",
		"Access-Control-Expose-Headers": "Content-Length, Content-Range, ETag, Accept-Ranges",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestSignedPlaybackIsCachedNoLongerThanItsURLIsValid(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	tests := []struct{ name, token, want string }{
		{"an hour at most", "1090000000.k1.sig", "private, max-age=3600"},
		{"while the URL is valid", "1000042000.k1.sig", "private, max-age=42"},
		{"not at all when it just expires", "1000000000.k1.sig", "private, max-age=0"},
		{"not at all when the expiry is malformed", "soon.k1.sig", "private, max-age=0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := playing(t, []byte(digits))
			w := do(newHandler(f, Config{Now: func() time.Time { return now }}), "GET", "/v/"+tt.token+"/"+testID+"/720p-0.jpg")
			if got := w.Header().Get("Cache-Control"); w.Code != 200 || got != tt.want {
				t.Errorf("answer is %d with Cache-Control %q, want 200 with %q", w.Code, got, tt.want)
			}
			if w.Header().Get("Content-Type") != "image/jpeg" || f.token != tt.token || f.id != testID || f.file != "720p-0.jpg" {
				t.Errorf("served %s of %s/%s/%s", w.Header().Get("Content-Type"), f.token, f.id, f.file)
			}
		})
	}
}

func TestFilesOfHLSAndDASH(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, contentType, cache string }{
		{"master.m3u8", "application/vnd.apple.mpegurl", "max-age=10"},
		{"manifest.mpd", "application/dash+xml", "max-age=10"},
		{"720p.m3u8", "application/vnd.apple.mpegurl", "max-age=3600"},
		{"audio-init.mp4", "video/mp4", "max-age=3600"},
		{"720p-17.m4s", "video/iso.segment", "max-age=3600"},
	}
	for _, tt := range tests {
		h := newHandler(playing(t, []byte(digits)), Config{Now: func() time.Time { return time.Unix(1_000_000, 0) }})
		for path, who := range map[string]string{"/v/" + testID + "/": "public, ", "/v/1090000000.k1.sig/" + testID + "/": "private, "} {
			w := do(h, "GET", path+tt.file, "Range", "bytes=2-3")
			if w.Code != 206 || w.Body.String() != "23" || w.Header().Get("Content-Type") != tt.contentType || strings.TrimSuffix(w.Header().Get("Cache-Control"), ", immutable") != who+tt.cache {
				t.Errorf("%s: answer is %d %q with %v; want 206 of %s, %s", path+tt.file, w.Code, w.Body, w.Header(), tt.contentType, who+tt.cache)
			}
		}
	}
}

// A segment of a film that is still being encoded may be another one after a failure.
func TestEarlySegmentsAreCachedForAMinute(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	f.early = true
	h := newHandler(f, Config{Now: func() time.Time { return time.Unix(1_000_000, 0) }})
	for path, want := range map[string]string{
		"/v/" + testID + "/720p-0.m4s":                   "public, max-age=60",
		"/v/1090000000.k1.sig/" + testID + "/720p-0.m4s": "private, max-age=60",
		"/v/1000042000.k1.sig/" + testID + "/720p-0.m4s": "private, max-age=42",
	} {
		if got := do(h, "GET", path).Header().Get("Cache-Control"); got != want {
			t.Errorf("%s is cached as %q; want %q", path, got, want)
		}
	}
}

func TestPlayersAreRedirectedToAStorageThatServesFiles(t *testing.T) {
	t.Parallel()
	const bucket = "https://bucket.example/key?X-Amz-Signature=x"
	f := playing(t, []byte(digits))
	f.address = bucket
	h := newHandler(f, Config{Now: func() time.Time { return time.Unix(1_000_000, 0) }})
	for path, cache := range map[string]string{
		"/v/" + testID + "/720p.mp4":                   "public, max-age=3600",
		"/v/1000042000.k1.sig/" + testID + "/720p.mp4": "private, max-age=42",
	} {
		w := do(h, "GET", path, "Range", "bytes=2-3")
		if w.Code != 302 || w.Header().Get("Location") != bucket || w.Header().Get("Cache-Control") != cache || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("GET %s is answered %d with %v; want 302 to the bucket, %s", path, w.Code, w.Header(), cache)
		}
		if w := do(h, "HEAD", path); w.Code != 200 || w.Header().Get("Content-Length") != "10" {
			t.Errorf("HEAD %s is answered %d with %v; want the file itself", path, w.Code, w.Header())
		}
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	h := newHandler(f, Config{})
	for query, want := range map[string]string{
		"?download=1": "attachment; filename=720p.mp4", "": "inline", "?download=": "inline", "?download=0": "inline", "?download": "inline", "?x=1": "inline",
	} {
		for _, path := range []string{"/v/" + testID + "/720p.mp4", "/v/1000042000.k1.sig/" + testID + "/720p.mp4"} {
			w := do(h, "GET", path+query, "Range", "bytes=2-3")
			if got := w.Header().Get("Content-Disposition"); w.Code != 206 || got != want || f.download != (query == "?download=1") {
				t.Errorf("%s is answered %d as %q, want %q", path+query, w.Code, got, want)
			}
		}
	}
	f.err = &video.Error{Kind: video.NotFound, Code: "not_ready", Msg: "Not yet."}
	w := do(h, "GET", "/v/"+testID+"/720p.mp4?download=1")
	wantProblem(t, w.Code, w.Header(), w.Body, 404, "not_ready")
	if got := w.Header().Get("Content-Disposition"); got != "" {
		t.Errorf("a problem is sent as %q", got)
	}
}

func TestPlayRefusals(t *testing.T) {
	t.Parallel()
	const public, signed = "/v/" + testID + "/720p.mp4", "/v/17.k1.sig/" + testID + "/720p.mp4"
	tests := []struct {
		name, path string
		err        error
		status     int
		code       string
	}{
		{"a malformed public ID", "/v/x/720p.mp4", nil, 404, "not_found"},
		{"a malformed signed ID", "/v/17.k1.sig/x/720p.mp4", &video.Error{Kind: video.Forbidden, Code: "url_invalid", Msg: "No."}, 403, "url_invalid"},
		{"not ready", public, &video.Error{Kind: video.NotFound, Code: "not_ready", Msg: "Not yet.", RetryAfter: time.Second}, 404, "not_ready"},
		{"gone", public, &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "No."}, 404, "not_found"},
		{"expired", signed, &video.Error{Kind: video.Forbidden, Code: "url_expired", Msg: "No."}, 403, "url_expired"},
		{"forged", signed, &video.Error{Kind: video.Forbidden, Code: "url_invalid", Msg: "No."}, 403, "url_invalid"},
		{"storage is unavailable", signed, &video.Error{Kind: video.Unavailable, Code: "storage_unavailable", Msg: "No."}, 503, "storage_unavailable"},
		{"an internal error", public, errors.New("open /srv: no"), 500, "internal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := do(newHandler(&fakeService{err: tt.err}, Config{}), "GET", tt.path)
			p := wantProblem(t, w.Code, w.Header(), w.Body, tt.status, tt.code)
			if strings.Contains(p.Instance+p.Detail, "17.k1.sig") || strings.Contains(p.Detail, "/srv") {
				t.Errorf("the problem shows too much: %+v", p)
			}
			if wait := w.Header().Get("Retry-After") != ""; wait != (tt.code == "not_ready" || tt.status == 503) {
				t.Errorf("Retry-After is %q", w.Header().Get("Retry-After"))
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		headers []string
		status  int
		body    string
	}{
		{"the cached copy is current", []string{"If-None-Match", `"e1"`}, 304, ""},
		{"the cached copy is stale", []string{"If-None-Match", `"e0"`}, 200, digits},
		{"not modified since", []string{"If-Modified-Since", "Wed, 02 Jan 2030 12:00:00 GMT"}, 304, ""},
		{"a range of the same version", []string{"Range", "bytes=2-3", "If-Range", `"e1"`}, 206, "23"},
		{"a range of another version", []string{"Range", "bytes=2-3", "If-Range", `"e0"`}, 200, digits},
		{"several ranges of another version", []string{"Range", "bytes=2-3,5-6", "If-Range", `"e0"`}, 200, digits},
		{"the condition comes before the range", []string{"Range", "bytes=99-", "If-None-Match", `"e1"`}, 304, ""},
		{"and before several ranges", []string{"Range", "bytes=0-1,3-4", "If-None-Match", `"e1"`}, 304, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := do(newHandler(playing(t, []byte(digits)), Config{}), "GET", "/v/"+testID+"/720p.mp4", tt.headers...)
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("answer is %d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
			if w.Header().Get("ETag") != `"e1"` {
				t.Errorf("ETag is %q", w.Header().Get("ETag"))
			}
		})
	}
}

func TestHeadMirrorsGet(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(newHandler(playing(t, []byte(digits)), Config{}))
	defer s.Close()
	for _, header := range []string{"", "bytes=2-3", "bytes=99-", "bytes=0-1,3-4"} {
		var answers []*http.Response
		for _, method := range []string{"GET", "HEAD"} {
			r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/v/"+testID+"/720p.mp4", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Range", header)
			r.Header.Set("X-Request-Id", "same") // it affects the length of a problem
			res, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			res.Header.Del("Date")
			answers = append(answers, res)
		}
		get, head := answers[0], answers[1]
		if get.StatusCode != head.StatusCode {
			t.Errorf("Range %q: GET answers %d, HEAD %d", header, get.StatusCode, head.StatusCode)
		}
		for name := range get.Header {
			if get.Header.Get(name) != head.Header.Get(name) {
				t.Errorf("Range %q: %s of GET is %q, of HEAD %q", header, name, get.Header.Get(name), head.Header.Get(name))
			}
		}
		if b, _ := io.ReadAll(head.Body); len(b) > 0 {
			t.Errorf("Range %q: HEAD has a body: %q", header, b)
		}
	}
}

func TestPreflightAndMethods(t *testing.T) {
	t.Parallel()
	h := newHandler(&fakeService{}, Config{})
	for path, methods := range map[string]string{
		"/v/" + testID + "/720p.mp4":           "GET, HEAD",
		"/v/17.k1.sig/" + testID + "/720p.mp4": "GET, HEAD",
		"/upload/17.k1.sig/" + testID:          "PUT",
	} {
		w := do(h, "OPTIONS", path, "Origin", "https://a.example", "Access-Control-Request-Method", methods[:3])
		g := w.Header()
		if w.Code != 204 || g.Get("Access-Control-Allow-Origin") != "*" || g.Get("Access-Control-Allow-Methods") != methods || g.Get("Access-Control-Allow-Headers") == "" {
			t.Errorf("OPTIONS %s answers %d %v", path, w.Code, g)
		}
		if w := do(h, "PATCH", path); w.Code != 405 || w.Header().Get("Allow") == "" {
			t.Errorf("PATCH %s answers %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestUncleanPlaybackPaths(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	h := newHandler(f, Config{})
	for _, path := range []string{
		"/v/", "/v/" + testID, "/v/" + testID + "/", "/v//" + testID + "/720p.mp4", "/v/" + testID + "/../720p.mp4", "/v/" + testID + "/./720p.mp4",
		"/v/a/" + testID + "/b/720p.mp4", "/v/" + testID + "//720p.mp4", "/v/../v/" + testID + "/720p.mp4", "/v/a/" + testID + "/",
	} {
		if w := do(h, "GET", path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: answer is %d, want 404", path, w.Code)
		}
	}
	if w := do(h, "GET", "/v/"+testID+"/720p%2Emp4"); w.Code != http.StatusOK || f.file != "720p.mp4" {
		t.Errorf("an escaped name: answer is %d for %q", w.Code, f.file)
	}
}

func TestHeadersForACDN(t *testing.T) {
	t.Parallel()
	const film, signed = "/v/" + testID + "/720p.mp4", "/v/9999999999999.k1.sig/" + testID + "/720p.mp4"
	for _, tt := range []struct {
		config            Config
		path, cache, tags string
	}{
		{Config{}, film, "public, max-age=3600, immutable", ""},
		{Config{CDN: true}, film, "public, max-age=3600, immutable", testID},
		{Config{CDN: true, Purged: true}, film, "public, max-age=3600, s-maxage=86400, immutable", testID},
		{Config{CDN: true, Purged: true}, strings.Replace(film, ".mp4", "-1.m4s", 1), "public, max-age=3600, s-maxage=86400, immutable", testID},
		{Config{CDN: true, Purged: true}, strings.Replace(film, ".mp4", ".m3u8", 1), "public, max-age=3600", testID},
		{Config{CDN: true, Purged: true}, "/v/" + testID + "/master.m3u8", "public, max-age=10", testID},
		{Config{CDN: true, Purged: true}, signed, "private, max-age=3600", testID},
	} {
		h := do(newHandler(playing(t, []byte(digits)), tt.config), "GET", tt.path).Header()
		if h.Get("Cache-Control") != tt.cache || h.Get("Cache-Tag") != tt.tags || h.Get("Surrogate-Key") != tt.tags || h.Get("Vary") != "" {
			t.Errorf("%+v, %s: %v", tt.config, tt.path, h)
		}
	}
	w := do(newHandler(&fakeService{err: http.ErrNoLocation}, Config{CDN: true, Purged: true}), "GET", film)
	if got := w.Header().Get("Cache-Control"); got != "no-store" || w.Header().Get("Cache-Tag") != "" {
		t.Errorf("an error is cached: %v", w.Header())
	}
}
