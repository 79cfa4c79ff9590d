package delivery

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/video"
)

// shared makes a share of a video and returns the path of its 720p file.
func (r *rig) shared(id video.ID, d share.Draft) (s share.Share, path string) {
	r.T.Helper()
	s, err := r.Shares.Create(r.T.Context(), r.By, id, d)
	r.Must(err)
	info, err := r.Shares.Watch(r.T.Context(), s, "")
	r.Must(err)
	return s, info.URLs.Resolutions["720p"].Rendition
}

func TestFilesOfAShare(t *testing.T) {
	t.Parallel()
	r := newRig(t, makeRendition(t), Config{})
	for _, id := range []video.ID{r.film, r.secret} {
		s, path := r.shared(id, share.Draft{})
		dir := path[:strings.LastIndex(path, "/")+1]
		info, err := r.Shares.Watch(t.Context(), s, "")
		r.Must(err)
		stream := info.URLs.HLS[:strings.LastIndex(info.URLs.HLS, "/")+1]
		paths := []string{path, info.URLs.HLS, info.URLs.DASH, stream + "720p.m3u8", stream + "720p-1.m4s", stream + "audio-init.mp4"}
		for _, p := range paths {
			for _, method := range []string{"GET", "HEAD"} {
				w := r.do(method, p, "Range", "bytes=0-1")
				if w.Code != 200 && w.Code != 206 || !strings.HasPrefix(w.Header().Get("Cache-Control"), "private") && w.Header().Get("Cache-Control") != "no-cache" {
					t.Errorf("%s %s is answered %d %v", method, p, w.Code, w.Header())
				}
			}
		}
		if w := r.do("GET", stream+"720p-1.m4s"); w.Header().Get("Cache-Control") != "private, max-age=30" {
			t.Errorf("a segment of a share is kept: %s", w.Header().Get("Cache-Control"))
		}
		for _, other := range []string{dir + "480p.mp4", dir + "master.m3u8", stream + "720p.mp4", dir + "original"} {
			w := r.do("GET", other)
			wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_invalid")
		}
		r.Must(r.Shares.Delete(t.Context(), r.By, id, s.ID))
		r.Advance(21 * time.Second)
		for _, p := range paths {
			for _, method := range []string{"GET", "HEAD"} {
				if w := r.do(method, p, "Range", "bytes=0-1"); w.Code != http.StatusForbidden {
					t.Errorf("after the deletion of its share %s %s is answered %d", method, p, w.Code)
				}
			}
		}
	}
}

// The signature covers the share and the video, and no other signature stands for it.
func TestSignaturesOfShares(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	s, path := r.shared(r.secret, share.Draft{})
	other, _ := r.shared(r.secret, share.Draft{})
	plain := r.signed("720p.mp4", time.Hour)
	until := r.Now().Add(time.Hour)
	for name, forged := range map[string]string{
		"another share":               strings.Replace(path, string(s.ID), string(other.ID), 1),
		"another video":               strings.Replace(path, "/"+string(r.secret), "/"+string(r.film), 1),
		"no share":                    strings.Replace(path, string(s.ID)+".", "", 1),
		"a share before a plain one":  "/v/" + string(s.ID) + "." + strings.TrimPrefix(plain, "/v/"),
		"an empty share":              "/v/." + strings.TrimPrefix(plain, "/v/"),
		"the cookie of a password":    "/v/" + r.Signing.Sign(sign.Share, string(r.secret)+"/720p.mp4", until) + "/" + string(r.secret) + "/720p.mp4",
		"two shares":                  "/v/" + string(other.ID) + "." + strings.TrimPrefix(path, "/v/"),
		"a share of another server's": "/v/x." + strings.TrimPrefix(strings.TrimPrefix(path, "/v/"), string(s.ID)+"."),
	} {
		if w := r.do("GET", forged); w.Code != http.StatusForbidden && w.Code != http.StatusNotFound {
			t.Errorf("%s: the answer is %d", name, w.Code)
		}
	}
	if w := r.do("GET", path); w.Code != 200 {
		t.Errorf("its own is answered %d %s", w.Code, w.Body)
	}
	r.Advance(time.Hour)
	w := r.do("GET", path)
	wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_expired")
}

// The expiry of a share counts to the second, also where it is remembered that it was there.
func TestAnExpiredShareEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	_, path := r.shared(r.secret, share.Draft{ExpiresAt: r.Now().Add(10 * time.Second)})
	if w := r.do("GET", path); w.Code != 200 {
		t.Errorf("before it is answered %d %v", w.Code, w.Header())
	}
	r.Advance(10 * time.Second)
	w := r.do("GET", path)
	wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_expired")
}

// An address of the bucket would outlive its share.
func TestSharesAreNotRedirected(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, []byte(digits), Config{}, onRemote)
	_, path := r.shared(r.secret, share.Draft{})
	if w := r.do("GET", path); w.Code != 200 || w.Body.String() != digits {
		t.Errorf("the answer is %d to %s", w.Code, w.Header().Get("Location"))
	}
	w := r.do("GET", path+"?download=1")
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("a download is answered %d %v", w.Code, w.Header())
	}
}
