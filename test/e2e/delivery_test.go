package e2e

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestPlayback asks for one video in all the ways that players do.
func TestPlayback(t *testing.T) {
	t.Parallel()
	s := start(t, proxied())
	ask := newVideo{Filename: oddName, Resolutions: []string{"144p"}, Thumbnails: []float64{0}}
	private := s.publish(ask, clip(t, miniClip)).Resolutions["144p"]
	ask.IsPublic = true
	public := s.publish(ask, clip(t, miniClip)).Resolutions["144p"]
	for name, r := range map[string]resolution{"public": public, "private": private} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			whole := s.get(r.VideoURL)
			checkPlayHeaders(t, whole, name)
			t.Run("HEAD", func(t *testing.T) { checkHead(t, s.in(t), r.VideoURL, whole) })
			t.Run("ranges", func(t *testing.T) { checkRanges(t, s.in(t), r.VideoURL, whole.body) })
			t.Run("refused ranges", func(t *testing.T) { checkRefusedRanges(t, s.in(t), r.VideoURL, len(whole.body)) })
			t.Run("conditions", func(t *testing.T) { checkConditions(t, s.in(t), r.VideoURL, whole) })
			t.Run("pages of other origins", func(t *testing.T) { checkCORS(t, s.in(t), r.VideoURL) })
			t.Run("download", func(t *testing.T) { checkDownload(t, s.in(t), r, whole.body) })
			still := s.getReady(r.ThumbnailImageURLs[0])
			if got := still.header.Get("Content-Type"); got != "image/jpeg" || still.header.Get("ETag") == "" {
				t.Errorf("a thumbnail is %s with ETag %q, want image/jpeg", got, still.header.Get("ETag"))
			}
		})
	}
}

// oddName is what a client may call a file, and savedName what a browser saves.
const (
	oddName   = "../Überraschung 🎬 \"; filename=evil.exe\r\nX: y.mkv"
	savedName = "_Überraschung 🎬 _; filename=evil.exe__X_ y.mp4"
)

// checkDownload wants a film with oddName to be shown, or saved if that is asked for.
func checkDownload(t testing.TB, s *server, film resolution, whole []byte) {
	t.Helper()
	saved, shown := s.get(film.VideoURL+"?download=1"), s.get(film.VideoURL)
	kind, params, err := mime.ParseMediaType(saved.header.Get("Content-Disposition"))
	if err != nil || kind != "attachment" || params["filename"] != savedName || saved.header.Get("X") != "" {
		t.Errorf("a download is answered %d as %q, which is %s %q, %v", saved.status, saved.header.Get("Content-Disposition"), kind, params, err)
	}
	if saved.status != http.StatusOK || saved.header.Get("Content-Type") != "video/mp4" || !bytes.Equal(saved.body, whole) {
		t.Errorf("a download is answered %d with %d bytes of %s", saved.status, len(saved.body), saved.header.Get("Content-Type"))
	}
	if got := shown.header.Get("Content-Disposition"); strings.HasPrefix(got, "attachment") {
		t.Errorf("a film that is opened in a tab is %q", got)
	}
	if r := s.get(film.ThumbnailImageURLs[0] + "?download=1"); strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("a thumbnail is saved as %q", r.header.Get("Content-Disposition"))
	}
}

func checkPlayHeaders(t testing.TB, r reply, visibility string) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type": "video/mp4", "Accept-Ranges": "bytes", "Access-Control-Allow-Origin": "*",
		"X-Content-Type-Options": "nosniff", "Content-Length": strconv.Itoa(len(r.body)),
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if r.status != http.StatusOK || r.header.Get("ETag") == "" || !strings.HasPrefix(r.header.Get("Cache-Control"), visibility) {
		t.Errorf("playback answers %d with ETag %q and Cache-Control %q", r.status, r.header.Get("ETag"), r.header.Get("Cache-Control"))
	}
}

func checkHead(t testing.TB, s *server, url string, whole reply) {
	r := s.send("HEAD", url, nil)
	if r.status != http.StatusOK || len(r.body) != 0 {
		t.Errorf("HEAD answers %d with %d bytes", r.status, len(r.body))
	}
	for _, name := range []string{"Content-Length", "Content-Type", "ETag", "Accept-Ranges"} {
		if got, want := r.header.Get(name), whole.header.Get(name); got != want {
			t.Errorf("%s of HEAD is %q, of GET %q", name, got, want)
		}
	}
}

func checkRanges(t testing.TB, s *server, url string, whole []byte) {
	n := len(whole)
	for asked, want := range map[string][2]int{ // first byte and the one after the last
		"bytes=0-0":                      {0, 1},
		"bytes=0-99":                     {0, 100},
		"bytes=100-299":                  {100, 300},
		"bytes=500-":                     {500, n},
		"bytes=-1":                       {n - 1, n},
		"bytes=-200":                     {n - 200, n},
		fmt.Sprintf("bytes=10-%d", n*2):  {10, n},
		fmt.Sprintf("bytes=-%d", n+1):    {0, n},
		fmt.Sprintf("bytes=%d-", n-1):    {n - 1, n},
		fmt.Sprintf("bytes=0-%d", n-1):   {0, n},
		"Bytes=5-9":                      {5, 10},
		"bytes=18446744073709551616-5,-": {0, 0}, // malformed: to be ignored
		"chapters=1-2":                   {0, 0},
	} {
		r := s.get(url, header{"Range", asked})
		if want == [2]int{} {
			if r.status != http.StatusOK || !bytes.Equal(r.body, whole) {
				t.Errorf("%s: answer is %d with %d bytes, want the whole", asked, r.status, len(r.body))
			}
			continue
		}
		if r.status != http.StatusPartialContent || !bytes.Equal(r.body, whole[want[0]:want[1]]) {
			t.Errorf("%s: answer is %d with %d bytes, want 206 with bytes %v", asked, r.status, len(r.body), want)
		}
		if got, want := r.header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/%d", want[0], want[1]-1, n); got != want {
			t.Errorf("%s: Content-Range is %q, want %q", asked, got, want)
		}
	}
}

func checkRefusedRanges(t testing.TB, s *server, url string, n int) {
	for asked, code := range map[string]string{
		fmt.Sprintf("bytes=%d-", n): "range_not_satisfiable",
		"bytes=99999999999999-":     "range_not_satisfiable",
		"bytes=-0":                  "range_not_satisfiable",
		"bytes=0-1,5-9":             "multiple_ranges_unsupported",
		"bytes=0-,0-,0-,0-":         "multiple_ranges_unsupported",
	} {
		r := s.get(url, header{"Range", asked})
		r.problem(t, http.StatusRequestedRangeNotSatisfiable, code)
		if got, want := r.header.Get("Content-Range"), fmt.Sprintf("bytes */%d", n); got != want {
			t.Errorf("%s: Content-Range is %q, want %q", asked, got, want)
		}
	}
}

func checkConditions(t testing.TB, s *server, url string, whole reply) {
	etag, modified := whole.header.Get("ETag"), whole.header.Get("Last-Modified")
	part := header{"Range", "bytes=0-9"}
	tests := []struct {
		name    string
		headers []header
		status  int
		length  int // -1: whatever explains the refusal
	}{
		{"the same ETag", []header{{"If-None-Match", etag}}, 304, 0},
		{"one of several ETags", []header{{"If-None-Match", `"other", ` + etag}}, 304, 0},
		{"any ETag", []header{{"If-None-Match", "*"}}, 304, 0},
		{"another ETag", []header{{"If-None-Match", `"other"`}}, 200, len(whole.body)},
		{"not modified since", []header{{"If-Modified-Since", modified}}, 304, 0},
		{"a part of the same file", []header{part, {"If-Range", etag}}, 206, 10},
		{"a part of another file", []header{part, {"If-Range", `"other"`}}, 200, len(whole.body)},
		{"parts of another file", []header{{"Range", "bytes=0-1,3-4"}, {"If-Range", `"other"`}}, 200, len(whole.body)},
		{"a part of a file that is known", []header{part, {"If-None-Match", etag}}, 304, 0},
		{"only if it is this file", []header{{"If-Match", etag}}, 200, len(whole.body)},
		{"only if it is another file", []header{{"If-Match", `"other"`}}, 412, -1},
	}
	for _, tt := range tests {
		if r := s.get(url, tt.headers...); r.status != tt.status || tt.length >= 0 && len(r.body) != tt.length {
			t.Errorf("%s: answer is %d with %d bytes, want %d with %d", tt.name, r.status, len(r.body), tt.status, tt.length)
		}
	}
}

func checkCORS(t testing.TB, s *server, url string) {
	origin := header{"Origin", "https://player.example"}
	for _, name := range []string{"Content-Range", "Content-Length", "ETag", "Accept-Ranges"} {
		if r := s.get(url, origin); !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("a page may not read %s: %v", name, r.header)
		}
	}
	r := s.send("OPTIONS", url, nil, origin, header{"Access-Control-Request-Method", "GET"}, header{"Access-Control-Request-Headers", "range"})
	if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Methods"), "GET") || !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Range") {
		t.Errorf("preflight answers %d %v", r.status, r.header)
	}
	for _, refused := range []reply{s.get(url+"x", origin), s.get(url, origin, header{"Range", "bytes=99999999-"})} {
		if refused.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("a page may not read the refusal %d", refused.status)
		}
	}
}
