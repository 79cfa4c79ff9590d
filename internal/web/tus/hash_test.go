package tus_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
)

// breaking yields some bytes and then an error, as a client whose connection breaks.
type breaking struct{ io.Reader }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("the connection broke")
	}
	return n, err
}

// hashOf completes an upload and returns the hash that its file has.
func (u *upload) hashOf() string {
	u.t.Helper()
	_, err := u.Uploads.Complete(u.t.Context(), u.by, u.id)
	u.must(err)
	v, err := u.db.Video(u.t.Context(), u.id)
	u.must(err)
	return v.Source.SHA256
}

// sum is the hash that a file must have.
func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// The hash of a resumable upload is right or not there, whatever happened on the way.
func TestHashOfAResumableUpload(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		whole := content(6 * mib)
		u := b.begin(whole)
		u.patch(0, 1000)
		u.patch(1000, 5*mib+17)
		u.send("PATCH", nil, patchHeaders(5*mib+17)...) // nothing
		u.patch(5*mib+17, len(whole))
		if got := u.hashOf(); got != sum(whole) {
			t.Errorf("a file in parts has the hash %q; want %q", got, sum(whole))
		}

		other := content(2000)
		copy(other[100:], "another file of the same length")
		again := b.begin(content(2000))
		again.patch(0, 1500)
		again.post() // begins it again
		again.whole = other
		again.patch(0, 2000)
		if got := again.hashOf(); got != sum(other) {
			t.Errorf("a file that was begun again has the hash %q; want %q", got, sum(other))
		}

		cut := b.begin(whole)
		_, _ = cut.trySend("PATCH", breaking{bytes.NewReader(whole[:3*mib])}, patchHeaders(0)...)
		for status := 0; status != http.StatusNoContent; { // the server may still be storing what has come
			had, err := strconv.Atoi(cut.send("HEAD", nil).Get("Upload-Offset"))
			b.must(err)
			status = cut.send("PATCH", bytes.NewReader(whole[had:]), patchHeaders(had)...).status
		}
		if got := cut.hashOf(); got != sum(whole) && got != "" {
			t.Errorf("a file whose upload broke off has the hash %q; want %q, or none", got, sum(whole))
		}
	})
}

// A process that dies has stored bytes that are not hashed. Two that write at once may have hashed others.
func TestAnUploadWithoutAHash(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	for name, fault := range map[string]string{
		"bytes that were not hashed": `UPDATE upload_hash SET bytes = 500 WHERE video_id = $1`,
		"another upload":             `UPDATE upload_hash SET token = 'other', bytes = 999 WHERE video_id = $1`,
		"a state that is none":       `UPDATE upload_hash SET state = 'x' WHERE video_id = $1`,
	} {
		whole := content(2000)
		u := b.begin(whole)
		u.patch(0, 1000)
		b.must(b.db.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(t.Context(), "spoil", fault, u.id)
			return err
		}))
		u.patch(1000, 2000)
		if got := u.hashOf(); got != "" {
			t.Errorf("%s: the file has the hash %q; want none", name, got)
		}
	}
}

// While a PATCH runs, its lease may be lost and another request may write. What either has hashed does not count.
func TestTwoWritersLeaveNoHash(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	u := b.begin(content(2000))
	write := func(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }
	ctx := context.WithoutCancel(t.Context())
	_, err := b.Uploads.Hashed(ctx, u.id, 0, bytes.NewReader(u.whole[:10]), func(r io.Reader) (int64, error) {
		n, err := b.Uploads.Hashed(ctx, u.id, 0, bytes.NewReader(u.whole[5:15]), write)
		if n != 10 || err != nil {
			t.Errorf("the other writer: %d, %v", n, err)
		}
		return write(r)
	})
	b.must(err)
	var rows int
	b.must(b.db.QueryRow(ctx, `SELECT count(*) FROM upload_hash WHERE video_id = $1`, u.id).Scan(&rows))
	if rows != 0 {
		t.Error("a hash is left that may be of other bytes")
	}
}
