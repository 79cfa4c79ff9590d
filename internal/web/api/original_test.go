package api

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestOriginal(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Processing(video.Draft{Filename: "a/b.mov"})
	at := "/api/video/" + string(v.ID) + "/original"
	sum := sha256.Sum256(servicetest.LikeVideo)
	for _, body := range []string{"", "{}", `{"expiresIn":60}`} {
		var got originalView
		r.decode(r.ask("POST", at, body), &got)
		if got.Filename != "a/b.mov" || got.SizeBytes != int64(len(servicetest.LikeVideo)) || got.SHA256 == nil || *got.SHA256 != hex.EncodeToString(sum[:]) || !strings.HasPrefix(got.URL, "http://example.com/v/") {
			t.Errorf("%s: the answer is %+v", body, got)
		}
	}
	var report struct{ SHA256 *string }
	if r.decode(r.ask("GET", "/api/video/"+string(v.ID)+"/report", ""), &report); report.SHA256 == nil || *report.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("the report says %v", report.SHA256)
	}
	wantProblem(t, r.askAs(r.newKey(auth.Write, auth.Delete), "POST", at, ""), 403, "insufficient_scope")
	wantProblem(t, r.askAs(r.newKeyOf("acme"), "POST", at, ""), 404, "video_not_found")
	wantProblem(t, r.ask("POST", at, `{"expiresIn":31536001}`), 400, "invalid_request")
	waiting := r.Create(video.Draft{})
	wantProblem(t, r.ask("POST", "/api/video/"+string(waiting.Video.ID)+"/original", ""), 409, "upload_incomplete")
	r.Must(r.Blobs.Delete(t.Context(), r.Video(v.ID).Source.Key))
	wantProblem(t, r.ask("POST", at, ""), 404, "original_gone")
}

// The hash is of the file that was completed, whichever was sent before.
func TestTheHashIsOfTheFileThatIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	first, last := append([]byte{}, servicetest.LikeVideo...), append([]byte{}, servicetest.LikeVideo...)
	first[300], last[300] = 1, 2
	up := r.Create(video.Draft{})
	r.Put(up, first)
	r.Put(up, last)
	_, err := r.Uploads.Complete(t.Context(), r.By, up.Video.ID)
	r.Must(err)
	if sum := sha256.Sum256(last); r.Video(up.Video.ID).Source.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("the hash is %s", r.Video(up.Video.ID).Source.SHA256)
	}
	other := r.Create(video.Draft{})
	r.Put(other, first)
	_, err = r.Blobs.Put(t.Context(), "upload/"+string(other.Video.ID)+"/file", strings.NewReader(string(last))) // straight to the storage
	r.Must(err)
	_, err = r.Uploads.Complete(t.Context(), r.By, other.Video.ID)
	r.Must(err)
	if got := r.Video(other.Video.ID).Source.SHA256; got != "" {
		t.Errorf("a file that did not pass through Spool has the hash %s", got)
	}
}
