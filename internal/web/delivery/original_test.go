package delivery

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// original returns the path of the file that was uploaded for a video.
func (r *rig) original(id video.ID) string {
	r.T.Helper()
	o, err := r.Player.Original(r.T.Context(), r.By, id, time.Hour, "")
	r.Must(err)
	return o.URL
}

func TestOriginal(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	v := r.Processing(video.Draft{Filename: "Ferien.MOV", IsPublic: true})
	path := r.original(v.ID)
	w := r.do("GET", path)
	if w.Code != 200 || w.Body.String() != string(servicetest.LikeVideo) {
		t.Errorf("the answer is %d with %d bytes", w.Code, w.Body.Len())
	}
	for name, want := range map[string]string{
		"Content-Type": v.ContentType, "Content-Disposition": `attachment; filename="Ferien.MOV"`, "Cache-Control": "private, no-store", "Accept-Ranges": "bytes",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Access-Control-Allow-Origin": "*",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if w := r.do("GET", path, "Range", "bytes=4-7"); w.Code != 206 || w.Body.String() != "ftyp" {
		t.Errorf("a range is answered %d %q", w.Code, w.Body)
	}
	if w := r.do("HEAD", path); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "424" {
		t.Errorf("HEAD is answered %d %v", w.Code, w.Header())
	}
	r.Must(r.DeleteVideo(t.Context(), r.By, v.ID))
	w = r.do("GET", path)
	wantProblem(t, w.Code, w.Header(), w.Body, 404, "video_not_found")
}

// No other signature opens the original, and its own opens nothing else.
func TestSignaturesOfOriginals(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	v, other := r.Processing(video.Draft{}), r.Processing(video.Draft{})
	own := strings.Split(r.original(v.ID), "/")[2]
	until := r.Now().Add(time.Hour)
	for _, p := range []sign.Purpose{sign.Playback, sign.Stream, sign.Sprites, sign.State, sign.Embed, sign.Upload, sign.Resume} {
		for _, subject := range []string{string(v.ID), string(v.ID) + "/original"} {
			w := r.do("GET", "/v/"+r.Signing.Sign(p, subject, until)+"/"+string(v.ID)+"/original")
			wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_invalid")
		}
	}
	for _, path := range []string{"/v/" + own + "/" + string(other.ID) + "/original", "/v/" + own + "/" + string(v.ID) + "/720p.mp4", "/v/" + own + "/" + string(v.ID) + "/master.m3u8"} {
		w := r.do("GET", path)
		wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_invalid")
	}
	if w := r.do("GET", "/v/"+string(v.ID)+"/original"); w.Code != 404 {
		t.Errorf("without a signature the answer is %d", w.Code)
	}
	r.Advance(time.Hour)
	w := r.do("GET", "/v/"+own+"/"+string(v.ID)+"/original")
	wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_expired")
}

func TestAnOriginalThatWasNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, []byte(digits), Config{})
	v := r.Processing(video.Draft{})
	path := r.original(v.ID)
	r.Must(r.Blobs.Delete(t.Context(), r.Video(v.ID).Source.Key))
	w := r.do("GET", path)
	wantProblem(t, w.Code, w.Header(), w.Body, 404, "original_gone")
	if _, err := r.Player.Original(t.Context(), r.By, v.ID, time.Hour, ""); video.KindOf(err) != video.NotFound {
		t.Errorf("its address is answered %v", err)
	}
}

func TestAnOriginalInABucket(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, []byte(digits), Config{}, onRemote)
	v := r.Create(video.Draft{Filename: "a.mov"}).Video
	_, err := r.Blobs.Put(t.Context(), "upload/"+string(v.ID)+"/file", bytes.NewReader(servicetest.LikeVideo))
	r.Must(err)
	_, err = r.Uploads.Complete(t.Context(), r.By, v.ID)
	r.Must(err)
	path := r.original(v.ID)
	w := r.do("GET", path, "Range", "bytes=4-7")
	if to := w.Header().Get("Location"); w.Code != http.StatusFound || !strings.HasPrefix(to, "https://bucket.example/source/"+string(v.ID)+"/") || !strings.Contains(to, "a.mov") {
		t.Errorf("the answer is %d to %s", w.Code, to)
	}
	if w := r.do("HEAD", path); w.Code != 200 || w.Header().Get("Content-Length") != "424" {
		t.Errorf("HEAD is answered %d %v", w.Code, w.Header())
	}
}
