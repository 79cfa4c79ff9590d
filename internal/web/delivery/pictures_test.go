package delivery

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/video"
)

func TestWhichPictureFormatsAClientTakes(t *testing.T) {
	t.Parallel()
	avif, webp := video.AVIF, video.WebP
	for accept, want := range map[string][]video.PictureFormat{
		"":          nil,
		"*/*":       nil,
		"image/*":   nil,
		"image/png": nil,
		"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8":                                 {avif, webp}, // Chrome
		"image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5":                            {avif, webp}, // Firefox
		"image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,*/*;q=0.5": {avif, webp}, // Safari
		"image/webp,*/*":                               {webp},
		"image/webp; q=0.9 , image/jpeg;q=0.9":         {webp},
		"IMAGE/WEBP":                                   {webp},
		"image/webp;q=0.5,image/jpeg":                  nil,
		"image/webp;q=0.5,image/*;q=0.8":               nil,
		"image/webp;q=0, image/avif;q=0,*/*;q=0":       nil,
		"image/webp;q=x":                               nil,
		"image/webp;q=NaN":                             nil,
		"image/webp;q=2":                               nil,
		"image/webp;level=1;q=0.7":                     {webp},
		"image/webp," + strings.Repeat("a", maxAccept): nil,
	} {
		if got := pictureFormats([]string{accept}); !slices.Equal(got, want) {
			t.Errorf("%q takes %v, want %v", accept, got, want)
		}
	}
	if got := pictureFormats([]string{"image/jpeg", "image/avif"}); !slices.Equal(got, []video.PictureFormat{avif}) {
		t.Errorf("two headers take %v", got)
	}
}

// A picture is sent in the format that the client takes, and caches are told what that depends on.
func TestPicturesByAccept(t *testing.T) {
	t.Parallel()
	const kept, own = "public, max-age=0, s-maxage=3600", "private, no-cache"
	for _, tt := range []struct {
		file, accept            string
		signed                  bool
		has                     video.PictureFormat
		sent, kind, cache, says string
	}{
		{"poster.jpg", "image/avif,image/webp", false, "webp", "poster.webp", "image/webp", own, "Accept"},
		{"poster.jpg", "image/avif,image/webp", false, "avif", "poster.avif", "image/avif", own, "Accept"},
		{"720p-0.jpg", "image/avif", false, "webp", "720p-0.jpg", "image/jpeg", kept, "Accept"},
		{"720p-0.jpg", "*/*", false, "webp", "720p-0.jpg", "image/jpeg", kept, "Accept"},
		{"720p-0.jpg", "", false, "webp", "720p-0.jpg", "image/jpeg", kept, "Accept"},
		{"720p-0.jpg", "image/webp", true, "webp", "720p-0.webp", "image/webp", own, "Accept"},
		{"storyboard-0.jpg", "image/webp", false, "webp", "storyboard-0.jpg", "image/jpeg", kept, ""},
		{"720p.mp4", "image/webp", false, "webp", "720p.mp4", "video/mp4", kept, ""},
	} {
		r := newRig(t, []byte("720p.mp4"), Config{})
		for _, picture := range []string{"poster.jpg", "720p-0.jpg", "storyboard-0.jpg"} {
			r.addFile(picture, []byte(picture))
			other := video.AlternateFile(picture, tt.has)
			r.addFile(other, []byte(other))
		}
		path := r.public(tt.file)
		if tt.signed {
			path = r.signed(tt.file, 2*time.Hour)
		}
		for _, method := range []string{"GET", "HEAD"} {
			w := r.do(method, path, "Accept", tt.accept)
			got := w.Header()
			if w.Code != http.StatusOK || method == "GET" && w.Body.String() != tt.sent || got.Get("Content-Type") != tt.kind || got.Get("Cache-Control") != tt.cache || got.Get("Vary") != tt.says {
				t.Errorf("%s %s for %q: %d %q %v", method, path, tt.accept, w.Code, w.Body, got)
			}
		}
		etag := r.do("GET", path, "Accept", tt.accept).Header().Get("ETag")
		if w := r.do("GET", path, "Accept", tt.accept, "If-None-Match", etag); w.Code != http.StatusNotModified || w.Header().Get("Vary") != tt.says {
			t.Errorf("%s for %q, which the client has: %d %v", path, tt.accept, w.Code, w.Header())
		}
	}
}

// A picture may have been deleted after it was seen, and made again as JPEG.
func TestAPictureThatIsGoneIsSentAsJPEG(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, nil, Config{}, func(s *disk.Store) blob.Store { return withoutWebP{s} })
	r.addFile("720p-0.jpg", []byte("a JPEG"))
	r.addFile("720p-0.webp", []byte("a WebP"))
	w := r.do("GET", r.public("720p-0.jpg"), "Accept", "image/webp")
	if got := w.Header(); w.Code != http.StatusOK || w.Body.String() != "a JPEG" || got.Get("Content-Type") != "image/jpeg" || got.Get("Cache-Control") != "public, max-age=0, s-maxage=3600" || got.Get("Vary") != "Accept" {
		t.Errorf("%d %q %v", w.Code, w.Body, got)
	}
	if w := r.do("GET", r.public("720p-1.jpg"), "Accept", "image/webp"); w.Code != http.StatusNotFound {
		t.Errorf("a JPEG that is gone answers %d", w.Code)
	}
}

// Where the storage serves files, the redirect leads to the format, and depends on Accept as well.
func TestPicturesByRedirect(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, nil, Config{}, onRemote)
	r.addFile("poster.jpg", []byte("a JPEG"))
	r.addFile("poster.webp", []byte("a WebP"))
	for accept, want := range map[string]struct{ file, cache string }{
		"image/webp": {"poster.webp", "private, max-age=10"},
		"*/*":        {"poster.jpg", "public, max-age=10"},
	} {
		w := r.do("GET", r.public("poster.jpg"), "Accept", accept)
		if got := w.Header().Get("Location"); w.Code != http.StatusFound || got != "https://bucket.example/public/"+string(r.film)+"/"+want.file+"?" || w.Header().Get("Vary") != "Accept" || w.Header().Get("Cache-Control") != want.cache {
			t.Errorf("%q is sent to %s: %d %v", accept, got, w.Code, w.Header())
		}
	}
}
