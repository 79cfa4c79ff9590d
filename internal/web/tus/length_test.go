package tus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"
)

// deferred starts an upload of unknown length and sends these bytes.
func (b *bench) deferred(whole []byte) *upload {
	b.t.Helper()
	u := b.create(whole)
	if a := u.send("POST", nil, "Upload-Defer-Length", "1"); a.status != http.StatusCreated {
		b.t.Fatalf("POST without a length answers %d %s; want 201", a.status, a.body)
	}
	u.patch(0, len(whole))
	return u
}

// The length may be declared in a request without a body, after the last byte. No
// byte may be lost, whatever happens at that moment.
func TestTheLengthMayBeDeclaredWithoutABody(t *testing.T) {
	t.Parallel()
	tests := map[string]func(u *upload){
		"and all is well": func(u *upload) { u.declare(http.StatusNoContent) },
		"and the disk is full": func(u *upload) {
			if u.scratch != "" { // beside a bucket, nothing can be kept
				u.must(os.RemoveAll(u.scratch))
				u.declare(http.StatusServiceUnavailable)
				u.must(os.Mkdir(u.scratch, 0o700))
				return
			}
			u.left = func() uint64 { return 0 }
			u.declare(http.StatusInsufficientStorage)
			u.left = nil
		},
		"and the process is killed": func(u *upload) { u.record(len(u.whole)) },
	}
	for name, happens := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, b *bench) {
				u := b.deferred(content(6 * mib)) // a part of 5 MiB, and an incomplete one
				happens(u)
				u.wantWhole()
			})
		})
	}
}

// declare sends the length in a request without a body.
func (u *upload) declare(want int) {
	u.t.Helper()
	headers := append(patchHeaders(len(u.whole)), "Upload-Length", strconv.Itoa(len(u.whole)))
	if a := u.send("PATCH", nil, headers...); a.status != want {
		u.t.Fatalf("the length alone is answered %d %s; want %d", a.status, a.body, want)
	}
}

// record writes the length into the record of the upload and does nothing else.
func (u *upload) record(length int) {
	u.t.Helper()
	key := "upload/" + string(u.id) + "/file.info"
	o, err := u.blobs.Open(u.t.Context(), key)
	u.must(err)
	defer o.Close()
	record, err := io.ReadAll(o)
	u.must(err)
	var info handler.FileInfo
	u.must(json.Unmarshal(record, &info))
	info.Size, info.SizeIsDeferred = int64(length), false
	record, err = json.Marshal(info)
	u.must(err)
	_, err = u.blobs.Put(u.t.Context(), key, bytes.NewReader(record))
	u.must(err)
}

// No PATCH may exceed the size limit, whatever its Content-Length.
func TestNoPatchExceedsTheLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		unknown, known := b.deferred(content(1000)), b.begin(content(3000))
		known.patch(0, 1000)
		for _, u := range []*upload{unknown, known} {
			for _, length := range []int64{limit - 999, math.MaxInt64} {
				u.announce(1000, length).wantProblem(t, http.StatusRequestEntityTooLarge, "file_too_large")
			}
			if a := u.send("HEAD", nil); a.Get("Upload-Offset") != "1000" {
				t.Errorf("HEAD answers %d %v; want the offset 1000", a.status, a.Header)
			}
		}
	})
}

// announce sends the headers of a PATCH of this length. Its body is sent only if the
// server asks for it.
func (u *upload) announce(from int, length int64) reply {
	u.t.Helper()
	r, err := http.NewRequestWithContext(u.t.Context(), "PATCH", u.address, bytes.NewReader(u.whole))
	u.must(err)
	r.ContentLength = length
	for h := append(patchHeaders(from), "Tus-Resumable", "1.0.0", "Expect", "100-continue"); len(h) > 0; h = h[2:] {
		r.Header.Set(h[0], h[1])
	}
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}}
	res, err := client.Do(r)
	u.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	u.must(err)
	return reply{res.Header, res.StatusCode, text}
}
