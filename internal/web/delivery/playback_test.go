package delivery

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

func TestPlayPublic(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	w := r.do("GET", "/v/"+strings.ToUpper(string(r.film))+"/720p.mp4")
	if w.Code != 200 || w.Body.String() != digits {
		t.Errorf("answer is %d %q", w.Code, w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "video/mp4", "Content-Length": "10", "Content-Disposition": "inline", "ETag": r.etag(),
		"Last-Modified": r.info("720p.mp4").Modified.UTC().Format(http.TimeFormat), "Accept-Ranges": "bytes", "Cache-Control": "public, max-age=0, s-maxage=3600",
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
	r := newRig(t, makeRendition(t), Config{})
	for life, want := range map[time.Duration]string{
		2 * time.Hour:          "private, max-age=3600",
		42 * time.Second:       "private, max-age=42",
		500 * time.Millisecond: "private, max-age=0",
	} {
		w := r.do("GET", r.streamed("720p-1.m4s", life))
		if got := w.Header().Get("Cache-Control"); w.Code != 200 || got != want {
			t.Errorf("for %v the answer is %d with Cache-Control %q, want 200 with %q", life, w.Code, got, want)
		}
	}
}

func TestFilesOfHLSAndDASH(t *testing.T) {
	t.Parallel()
	r := newRig(t, makeRendition(t), Config{})
	for _, tt := range []struct{ file, contentType, cache string }{
		{"master.m3u8", "application/vnd.apple.mpegurl", "max-age=10"},
		{"manifest.mpd", "application/dash+xml", "max-age=10"},
		{"720p.m3u8", "application/vnd.apple.mpegurl", "max-age=3600"},
		{"audio-init.mp4", "video/mp4", "max-age=3600"},
		{"720p-1.m4s", "video/iso.segment", "max-age=3600"},
	} {
		whole := r.do("GET", r.public(tt.file)).Body.String()
		for path, who := range map[string]string{r.public(tt.file): "public, ", r.streamed(tt.file, 2*time.Hour): "private, "} {
			w := r.do("GET", path, "Range", "bytes=2-3")
			if w.Code != 206 || w.Body.String() != whole[2:4] || w.Header().Get("Content-Type") != tt.contentType || strings.TrimSuffix(w.Header().Get("Cache-Control"), ", immutable") != who+tt.cache {
				t.Errorf("%s: answer is %d %q with %v; want 206 of %s, %s", path, w.Code, w.Body, w.Header(), tt.contentType, who+tt.cache)
			}
		}
	}
}

// early is a file of a rendition that is not published yet.
type early struct{ playback.Content }

func (early) Early() bool { return true }

// A segment of a film that is still being encoded may be another one after a failure.
func TestEarlySegmentsAreCachedForAMinute(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]caching{
		"public, max-age=60":  {who: "public", validFor: maxCache, purged: true},
		"private, max-age=60": {who: "private", validFor: 2 * time.Hour},
		"private, max-age=42": {who: "private", validFor: 42 * time.Second},
	} {
		if got := c.cacheControl(early{}, "720p-0.m4s"); got != want {
			t.Errorf("%+v is cached as %q; want %q", c, got, want)
		}
	}
}

func onRemote(s *disk.Store) blob.Store { return remote{s} }

func TestPlayersAreRedirectedToAStorageThatServesFiles(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, []byte(digits), Config{}, onRemote)
	for path, want := range map[string]struct{ key, cache string }{
		r.path:                              {"public/" + string(r.film), "public, max-age=10"},
		r.signed("720p.mp4", 6*time.Second): {"private/" + string(r.secret), "private, max-age=6"},
	} {
		w := r.do("GET", path, "Range", "bytes=2-3")
		if w.Code != 302 || w.Header().Get("Location") != "https://bucket.example/"+want.key+"/720p.mp4?" || w.Header().Get("Cache-Control") != want.cache || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("GET %s is answered %d with %v; want 302 to the bucket, %s", path, w.Code, w.Header(), want.cache)
		}
		if w := r.do("HEAD", path); w.Code != 200 || w.Header().Get("Content-Length") != "10" {
			t.Errorf("HEAD %s is answered %d with %v; want the file itself", path, w.Code, w.Header())
		}
		// The rest of an earlier version is not the rest of this one.
		if w := r.do("GET", path, "Range", "bytes=2-3", "If-Range", `"earlier"`); w.Code != 200 || w.Body.String() != digits {
			t.Errorf("GET %s of a version that is gone is answered %d %q; want the whole file", path, w.Code, w.Body)
		}
	}
	w := r.do("GET", r.path+"?download=1")
	if want := "https://bucket.example/public/" + string(r.film) + "/720p.mp4?" + url.QueryEscape(`attachment; filename="film.mp4"`); w.Header().Get("Location") != want {
		t.Errorf("a download is sent to %s, want %s", w.Header().Get("Location"), want)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	for query, want := range map[string]string{
		"?download=1": `attachment; filename="film.mp4"`, "": "inline", "?download=": "inline", "?download=0": "inline", "?download": "inline", "?x=1": "inline",
	} {
		for _, path := range []string{r.path, r.signed("720p.mp4", time.Hour)} {
			w := r.do("GET", path+query, "Range", "bytes=2-3")
			if got := w.Header().Get("Content-Disposition"); w.Code != 206 || got != want {
				t.Errorf("%s is answered %d as %q, want %q", path+query, w.Code, got, want)
			}
		}
	}
	id := r.Processing(video.Draft{IsPublic: true}).ID
	w := r.do("GET", "/v/"+string(id)+"/720p.mp4?download=1")
	wantProblem(t, w.Code, w.Header(), w.Body, 404, "not_ready")
	if got := w.Header().Get("Content-Disposition"); got != "" {
		t.Errorf("a problem is sent as %q", got)
	}
}

func TestPlayRefusals(t *testing.T) {
	t.Parallel()
	var storage *broken
	r := newRigOn(t, []byte(digits), Config{}, func(s *disk.Store) blob.Store {
		storage = &broken{Store: s}
		return storage
	})
	making := r.Processing(video.Draft{IsPublic: true}).ID
	signed := r.signed("720p.mp4", time.Hour)
	for _, tt := range []struct {
		name, path string
		fault      error
		status     int
		code       string
	}{
		{"a malformed public ID", "/v/x/720p.mp4", nil, 404, "not_found"},
		{"a malformed signed ID", strings.Replace(signed, string(r.secret), "x", 1), nil, 403, "url_invalid"},
		{"not ready", "/v/" + string(making) + "/720p.mp4", nil, 404, "not_ready"},
		{"never made", r.public("1080p.mp4"), nil, 404, "not_found"},
		{"no file of a video", r.public("720p.mp3"), nil, 404, "not_found"},
		{"private", strings.Replace(r.path, string(r.film), string(r.secret), 1), nil, 404, "not_found"},
		{"expired", r.signed("720p.mp4", -time.Second), nil, 403, "url_expired"},
		{"signed for another file", strings.Replace(signed, "720p", "240p", 1), nil, 403, "url_invalid"},
		{"forged", "/v/17.k1.sig/" + string(r.secret) + "/720p.mp4", nil, 403, "url_invalid"},
		{"the storage is unavailable", signed, errors.New("open /srv: no"), 503, "storage_unavailable"},
	} {
		storage.err = tt.fault
		w := r.do("GET", tt.path)
		p := wantProblem(t, w.Code, w.Header(), w.Body, tt.status, tt.code)
		token := strings.Split(tt.path, "/")[2]
		if token != string(making) && token != string(r.film) && strings.Contains(token, ".") && strings.Contains(p.Instance+p.Detail, token) || strings.Contains(p.Detail, "/srv") {
			t.Errorf("%s: the problem shows too much: %+v", tt.name, p)
		}
		if wait := w.Header().Get("Retry-After") != ""; wait != (tt.code == "not_ready" || tt.status == 503) {
			t.Errorf("%s: Retry-After is %q", tt.name, w.Header().Get("Retry-After"))
		}
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control is %q", tt.name, got)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	modified := r.info("720p.mp4").Modified.UTC().Format(http.TimeFormat)
	for _, tt := range []struct {
		name    string
		headers []string
		status  int
		body    string
	}{
		{"the cached copy is current", []string{"If-None-Match", r.etag()}, 304, ""},
		{"the cached copy is stale", []string{"If-None-Match", `"e0"`}, 200, digits},
		{"not modified since", []string{"If-Modified-Since", modified}, 304, ""},
		{"a range of the same version", []string{"Range", "bytes=2-3", "If-Range", r.etag()}, 206, "23"},
		{"a range of another version", []string{"Range", "bytes=2-3", "If-Range", `"e0"`}, 200, digits},
		{"several ranges of another version", []string{"Range", "bytes=2-3,5-6", "If-Range", `"e0"`}, 200, digits},
		{"the condition comes before the range", []string{"Range", "bytes=99-", "If-None-Match", r.etag()}, 304, ""},
		{"and before several ranges", []string{"Range", "bytes=0-1,3-4", "If-None-Match", r.etag()}, 304, ""},
	} {
		w := r.do("GET", r.path, tt.headers...)
		if w.Code != tt.status || w.Body.String() != tt.body {
			t.Errorf("%s: answer is %d %q, want %d %q", tt.name, w.Code, w.Body, tt.status, tt.body)
		}
		if w.Header().Get("ETag") != r.etag() {
			t.Errorf("%s: ETag is %q", tt.name, w.Header().Get("ETag"))
		}
	}
	w := r.do("GET", r.path, "If-Match", `"e0"`)
	wantProblem(t, w.Code, w.Header(), w.Body, 412, "precondition_failed")
}

func TestHeadMirrorsGet(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	s := httptest.NewServer(r.handler)
	defer s.Close()
	for _, header := range []string{"", "bytes=2-3", "bytes=99-", "bytes=0-1,3-4"} {
		var answers []*http.Response
		for _, method := range []string{"GET", "HEAD"} {
			q, err := http.NewRequestWithContext(t.Context(), method, s.URL+r.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Range", header)
			q.Header.Set("X-Request-Id", "same") // it affects the length of a problem
			res, err := s.Client().Do(q)
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
	r := newRig(t, nil, Config{})
	for path, methods := range map[string]string{
		r.path: "GET, HEAD",
		"/v/17.k1.sig/" + string(r.film) + "/720p.mp4": "GET, HEAD",
		"/upload/17.k1.sig/" + string(r.film):          "PUT",
	} {
		w := r.do("OPTIONS", path, "Origin", "https://a.example", "Access-Control-Request-Method", methods[:3])
		g := w.Header()
		if w.Code != 204 || g.Get("Access-Control-Allow-Origin") != "*" || g.Get("Access-Control-Allow-Methods") != methods || g.Get("Access-Control-Allow-Headers") == "" {
			t.Errorf("OPTIONS %s answers %d %v", path, w.Code, g)
		}
		if w := r.do("PATCH", path); w.Code != 405 || w.Header().Get("Allow") == "" {
			t.Errorf("PATCH %s answers %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestUncleanPlaybackPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	id := string(r.film)
	for _, path := range []string{
		"/v/", "/v/" + id, "/v/" + id + "/", "/v//" + id + "/720p.mp4", "/v/" + id + "/../720p.mp4", "/v/" + id + "/./720p.mp4",
		"/v/a/" + id + "/b/720p.mp4", "/v/" + id + "//720p.mp4", "/v/../v/" + id + "/720p.mp4", "/v/a/" + id + "/",
	} {
		if w := r.do("GET", path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: answer is %d, want 404", path, w.Code)
		}
	}
	if w := r.do("GET", "/v/"+id+"/720p%2Emp4"); w.Code != http.StatusOK || w.Body.String() != digits {
		t.Errorf("an escaped name: answer is %d %q", w.Code, w.Body)
	}
}

func TestHeadersForACDN(t *testing.T) {
	t.Parallel()
	film := makeRendition(t)
	for _, tt := range []struct {
		config      Config
		file, cache string
		signed      bool
	}{
		{Config{}, "720p.mp4", "public, max-age=0, s-maxage=3600", false},
		{Config{CDN: true}, "720p.mp4", "public, max-age=0, s-maxage=3600", false},
		{Config{CDN: true, Purged: true}, "720p.mp4", "public, max-age=0, s-maxage=86400", false},
		{Config{CDN: true, Purged: true}, "720p-1.m4s", "public, max-age=3600, s-maxage=86400, immutable", false},
		{Config{CDN: true, Purged: true}, "720p.m3u8", "public, max-age=3600", false},
		{Config{CDN: true, Purged: true}, "master.m3u8", "public, max-age=10", false},
		{Config{CDN: true, Purged: true}, "720p.mp4", "private, no-cache", true},
	} {
		r := newRig(t, film, tt.config)
		path, id := r.public(tt.file), string(r.film)
		if tt.signed {
			path, id = r.signed(tt.file, 2*time.Hour), string(r.secret)
		}
		if !tt.config.CDN {
			id = ""
		}
		w := r.do("GET", path)
		h := w.Header()
		if w.Code != 200 || h.Get("Cache-Control") != tt.cache || h.Get("Cache-Tag") != id || h.Get("Surrogate-Key") != id || h.Get("Vary") != "" {
			t.Errorf("%+v, %s: %d %v", tt.config, tt.file, w.Code, h)
		}
		if h := r.do("GET", r.public("1080p.mp4")).Header(); h.Get("Cache-Control") != "no-store" || h.Get("Cache-Tag") != "" {
			t.Errorf("an error is cached: %v", h)
		}
	}
}
