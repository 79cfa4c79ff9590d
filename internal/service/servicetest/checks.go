package servicetest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Objects lists the keys of all objects.
func (r *Rig) Objects() []string {
	r.T.Helper()
	var all []string
	for info, err := range r.Blobs.List(r.T.Context(), "") {
		r.Must(err)
		all = append(all, info.Key)
	}
	slices.Sort(all)
	return all
}

// Waiting counts the queued tasks of each kind.
func (r *Rig) Waiting() map[queue.Kind]int {
	r.T.Helper()
	stats, err := r.Queue.Stats(r.T.Context())
	r.Must(err)
	n := map[queue.Kind]int{}
	for k, s := range stats {
		n[k] = s.Waiting
	}
	return n
}

// WantStatuses compares a video and its resolutions with words such as
// "processing: 720p ready, 240p processing".
func (r *Rig) WantStatuses(id video.ID, want string) {
	r.T.Helper()
	v := r.Video(id)
	var each []string
	for _, res := range v.Resolutions {
		each = append(each, fmt.Sprintf("%s %s", res.Name, res.Status))
	}
	if got := fmt.Sprintf("%s: %s", v.Status, strings.Join(each, ", ")); got != want {
		r.T.Errorf("the video is %q; want %q", got, want)
	}
}

// CodeOf returns the code of a *video.Error, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Code
	}
	return ""
}

// WantCode fails the test unless err is a *video.Error of this code.
func WantCode(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Code != code || e.Kind != kind {
		t.Fatalf("got error %v; want %s of kind %s", err, code, kind)
	}
}

// ReadAll reads a file and closes it.
func ReadAll(t *testing.T, o io.ReadCloser) string {
	t.Helper()
	defer o.Close()
	text, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
