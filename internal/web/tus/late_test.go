package tus_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// A request that is writing while its video is deleted must leave nothing.
func TestNothingIsWrittenAfterADeletion(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]struct {
		suffix string // of the object that is being written
		send   func(u *upload) reply
	}{
		"a PATCH":  {".part", func(u *upload) reply { return u.send("PATCH", bytes.NewReader(u.whole[:mib]), patchHeaders(0)...) }},
		"the POST": {".info", func(u *upload) reply { return u.send("POST", nil, "Upload-Length", "10", "Upload-Replace", "true") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onBucket(t)
			u := b.begin(content(6 * mib))
			b.faults.record = func(key string) {
				if strings.HasSuffix(key, late.suffix) {
					b.must(b.DeleteVideo(t.Context(), b.by, u.id))
				}
			}
			late.send(u).wantProblem(t, http.StatusNotFound, "video_not_found")
			if left := u.stored(); len(left) > 0 || b.parts() != 0 {
				t.Errorf("after the deletion there are %q and %d multipart uploads", left, b.parts())
			}
		})
	}
}
