package tus_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/objects"
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

// written returns how many bytes of an unfinished upload are on the disk.
func (u *upload) written() int64 {
	info, err := os.Stat(filepath.Join(u.dir, filepath.FromSlash(objects.Upload(u.id))+".part"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// waiting is a part of a body that comes after something has happened.
type waiting struct{ happens func() }

func (w waiting) Read([]byte) (int, error) {
	w.happens()
	return 0, io.EOF
}

// A request that goes on after its upload was given up writes into a file that nobody sees any more.
func TestARequestEndsWithItsUpload(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	b := onDiskWith(t, &bench{timing: quick, now: func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }})
	send := func(after time.Duration) (*upload, reply) {
		u := b.begin(content(2 * mib))
		body := io.MultiReader(bytes.NewReader(u.whole[:mib]), waiting{func() {
			for deadline := time.Now().Add(time.Minute); u.written() < mib/2; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Error("the first bytes were not stored")
					break
				}
			}
			passed.Add(int64(after))
		}}, bytes.NewReader(u.whole[mib:]))
		return u, u.send("PATCH", body, patchHeaders(0)...)
	}
	u, a := send(90 * time.Minute) // the address has expired
	if size, err := b.Uploads.StoredBytes(t.Context(), u.id); a.status != http.StatusNoContent || err != nil || size != 2*mib {
		t.Errorf("PATCH answers %d %s, and %d bytes are stored, %v; want all of them", a.status, a.body, size, err)
	}
	u, a = send(3 * time.Hour) // an hour for the address, and one until the upload is given up
	a.wantProblem(t, http.StatusForbidden, "url_expired")
	if got := u.written(); got > mib {
		t.Errorf("%d bytes are stored; want none after the end", got)
	}
}
