package delivery

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is sent without http.ServeContent is what that would send. A condition that holds makes it
// send the same content.
func TestPlainRequestsAreAnsweredLikeOthers(t *testing.T) {
	t.Parallel()
	h := newHandler(playing(t, []byte(digits)), Config{CDN: true})
	for _, method := range []string{"GET", "HEAD"} {
		for _, r := range []string{"", "bytes=0-", "bytes=0-0", "bytes=3-5", "bytes=9-", "bytes=9-9", "bytes=2-99", "bytes=0-9", "bytes=07-8"} {
			for _, path := range []string{"/v/" + testID + "/720p.mp4", "/v/9999999999999.k1.sig/" + testID + "/720p-0.jpg"} {
				headers := []string{"X-Request-Id", "a"}
				if r != "" {
					headers = append(headers, "Range", r)
				}
				plain := do(h, method, path, headers...)
				served := do(h, method, path, append(slices.Clone(headers), "If-Match", `"e1"`)...)
				if diff := cmp.Diff(served.Header(), plain.Header()); plain.Code != served.Code || plain.Body.String() != served.Body.String() || diff != "" {
					t.Errorf("%s %s with range %q: answers are %d %q and %d %q (-ServeContent +plain):\n%s",
						method, path, r, served.Code, served.Body, plain.Code, plain.Body, diff)
				}
			}
		}
	}
}

// Only plain names are served in front of the mux: it knows what becomes of the others.
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
