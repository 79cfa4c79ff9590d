package tus_test

import (
	"net/http"
	"strings"
	"testing"
)

// A client that is given one URL for two files, as Uppy with one endpoint, must learn that
// it cannot upload both.
func TestAnotherFileIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		u := b.begin(content(3000))
		refused := func(when string, headers ...string) {
			t.Helper()
			t.Log(when)
			u.send("POST", nil, headers...).wantProblem(t, http.StatusConflict, "upload_exists")
		}
		refused("before the first byte", "Upload-Length", "2999")
		u.patch(0, 1000)
		refused("in the middle", "Upload-Length", "3001")
		refused("with an unknown length", "Upload-Defer-Length", "1")
		refused("with a header that says no", "Upload-Length", "2999", "Upload-Replace", "false")
		u.wantOffset(1000)
		u.patch(1000, 3000)
		refused("after the last byte", "Upload-Length", "2999")
		u.wantOffset(3000)
		u.wantWhole()
	})
}

func TestAnotherFileMayReplaceTheFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		for _, sent := range []int{1000, 3000} {
			u := b.begin(content(3000))
			u.patch(0, sent)
			u.whole = content(2500)
			if a := u.send("POST", nil, "Upload-Length", "2500", "Upload-Replace", "true"); a.status != http.StatusCreated {
				t.Fatalf("a POST that replaces is answered %d %s; want 201", a.status, a.body)
			}
			u.wantOffset(0)
			u.patch(0, 2500)
			u.wantWhole()
		}
	})
}

// A page of another origin may send the header.
func TestPagesMayReplace(t *testing.T) {
	t.Parallel()
	a := onDisk(t).create(content(10)).send("OPTIONS", nil)
	if got := a.Get("Access-Control-Allow-Headers"); !strings.Contains(got, "Upload-Replace") {
		t.Errorf("pages may send %s", got)
	}
}
