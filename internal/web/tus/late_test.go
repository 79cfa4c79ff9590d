package tus_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestNothingComesAfterADeletion, also not what was just being written.
func TestNothingComesAfterADeletion(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]struct {
		suffix string // of the object that is being written
		send   func(u *upload) reply
	}{
		"a piece":       {".part", func(u *upload) reply { return u.send("PATCH", bytes.NewReader(u.whole[:mib]), piece(0)...) }},
		"the beginning": {".info", func(u *upload) reply { return u.send("POST", nil, "Upload-Length", "10") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onBucket(t)
			u := b.begin(film(6 * mib))
			b.faults.record = func(key string) {
				if strings.HasSuffix(key, late.suffix) {
					b.must(b.DeleteVideo(t.Context(), b.by, u.id))
				}
			}
			late.send(u).wantProblem(t, http.StatusNotFound, "video_not_found")
			if left := u.stored(); len(left) > 0 || b.parts() != 0 {
				t.Errorf("after the deletion there are %q and %d objects in parts", left, b.parts())
			}
		})
	}
}
