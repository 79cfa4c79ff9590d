package delivery

import (
	"net/http"
	"slices"
	"strings"
	"testing"

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
	const public, private = "/v/" + testID + "/", "/v/9999999999999.k1.sig/" + testID + "/"
	const kept, signed = "public, max-age=3600, immutable", "private, max-age=3600"
	for _, tt := range []struct {
		path, accept            string
		has                     video.PictureFormat
		vary                    bool
		file, kind, cache, says string
	}{
		{public + "poster.jpg", "image/avif,image/webp", "webp", false, "poster.webp", "image/webp", signed, "Accept"},
		{public + "poster.jpg", "image/avif,image/webp", "avif", true, "poster.avif", "image/avif", kept, "Accept"},
		{public + "720p-0.jpg", "image/avif", "webp", false, "720p-0.jpg", "image/jpeg", kept, "Accept"},
		{public + "720p-0.jpg", "*/*", "webp", false, "720p-0.jpg", "image/jpeg", kept, "Accept"},
		{public + "720p-0.jpg", "", "webp", true, "720p-0.jpg", "image/jpeg", kept, "Accept"},
		{private + "720p-0.jpg", "image/webp", "webp", true, "720p-0.webp", "image/webp", signed, "Accept"},
		{public + "storyboard-0.jpg", "image/webp", "webp", false, "storyboard-0.jpg", "image/jpeg", kept, ""},
		{public + "720p.mp4", "image/webp", "webp", false, "720p.mp4", "video/mp4", kept, ""},
	} {
		f := playing(t, []byte(digits))
		f.has = tt.has
		h := newHandler(f, Config{Vary: tt.vary})
		for _, method := range []string{"GET", "HEAD"} {
			w := do(h, method, tt.path, "Accept", tt.accept)
			got := w.Header()
			if w.Code != http.StatusOK || f.file != tt.file || got.Get("Content-Type") != tt.kind || got.Get("Cache-Control") != tt.cache || got.Get("Vary") != tt.says {
				t.Errorf("%s %s for %q: %s, %d %v", method, tt.path, tt.accept, f.file, w.Code, got)
			}
		}
		if w := do(h, "GET", tt.path, "Accept", tt.accept, "If-None-Match", `"e1"`); w.Code != http.StatusNotModified || w.Header().Get("Vary") != tt.says {
			t.Errorf("%s for %q, which the client has: %d %v", tt.path, tt.accept, w.Code, w.Header())
		}
	}
}

// A picture may have been deleted after it was seen, and made again as JPEG.
func TestAPictureThatIsGoneIsSentAsJPEG(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	f.has, f.gone = "webp", "720p-0.webp"
	h := newHandler(f, Config{})
	w := do(h, "GET", "/v/"+testID+"/720p-0.jpg", "Accept", "image/webp")
	if got := w.Header(); w.Code != http.StatusOK || f.file != "720p-0.jpg" || got.Get("Content-Type") != "image/jpeg" || got.Get("Cache-Control") != "public, max-age=3600, immutable" || got.Get("Vary") != "Accept" {
		t.Errorf("%s, %d %v", f.file, w.Code, got)
	}
	f.gone = "720p-0.jpg"
	f.has = ""
	if w := do(h, "GET", "/v/"+testID+"/720p-0.jpg", "Accept", "image/webp"); w.Code != http.StatusNotFound {
		t.Errorf("a JPEG that is gone answers %d", w.Code)
	}
}

// Where the storage serves files, the redirect leads to the format, and depends on Accept as well.
func TestPicturesByRedirect(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	f.has, f.address = "webp", "https://bucket.example/"
	h := newHandler(f, Config{})
	for accept, want := range map[string]struct{ file, cache string }{
		"image/webp": {"poster.webp", "private, max-age=3600"},
		"*/*":        {"poster.jpg", "public, max-age=3600"},
	} {
		w := do(h, "GET", "/v/"+testID+"/poster.jpg", "Accept", accept)
		if w.Code != http.StatusFound || f.redirected != want.file || w.Header().Get("Vary") != "Accept" || w.Header().Get("Cache-Control") != want.cache {
			t.Errorf("%q is sent to %s: %d %v", accept, f.redirected, w.Code, w.Header())
		}
	}
}
