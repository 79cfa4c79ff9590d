package tus_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

var errFault = errors.New("the bucket fails")

// A part that fails in the middle must not leave a gap: the parts after it do not
// count.
func TestAPartThatFails(t *testing.T) {
	t.Parallel()
	b := onBucket(t)
	u := b.begin(content(22 * mib))
	u.patch(0, mib) // an incomplete part
	failed := 0
	b.faults.part = func(_ context.Context, number int32) error {
		if number == 2 && failed == 0 {
			failed++
			return errFault
		}
		return nil
	}
	u.send("PATCH", bytes.NewReader(u.whole[mib:]), patchHeaders(mib)...).wantProblem(t, http.StatusServiceUnavailable, "storage_unavailable")
	u.wantOffset(5 * mib)
	u.patch(5*mib, len(u.whole))
	u.wantWhole()
}

// A part that is being sent when the lease is lost must be cancelled: another
// process may have begun to write the same bytes, and they would count twice.
func TestAPartInTransitIsCancelledWithTheLease(t *testing.T) {
	t.Parallel()
	b := onBucket(t)
	u := b.begin(content(6 * mib))
	b.faults.part = func(ctx context.Context, _ int32) error {
		b.lost.Store(true)
		<-ctx.Done()
		return ctx.Err()
	}
	u.send("PATCH", bytes.NewReader(u.whole), patchHeaders(0)...).wantProblem(t, http.StatusServiceUnavailable, "storage_unavailable")
	b.lost.Store(false)
	b.faults.part = nil
	u.wantOffset(0)
	u.patch(0, len(u.whole))
	u.wantWhole()
}

// A part that arrives late was abandoned by its sender, and its first bytes have
// been sent again. They must not count twice.
func TestAPartThatArrivesLate(t *testing.T) {
	t.Parallel()
	b := onBucket(t)
	u := b.begin(content(12 * mib))
	u.patch(0, mib)
	open, err := b.faults.client().ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: &b.faults.bucket})
	b.must(err)
	_, err = b.faults.client().UploadPart(t.Context(), &sdk.UploadPartInput{
		Bucket: &b.faults.bucket, Key: open.Uploads[0].Key, UploadId: open.Uploads[0].UploadId, PartNumber: aws.Int32(1), Body: bytes.NewReader(u.whole[:5*mib]),
	})
	b.must(err)
	u.wantOffset(mib)
	u.patch(mib, 2*mib)
	u.patch(2*mib, len(u.whole))
	u.wantWhole()
}

// If completing the multipart upload fails, or its response is lost, a client must
// not be told that the upload is complete before the object exists.
func TestCompletingFails(t *testing.T) {
	t.Parallel()
	tests := map[string]func(done func() error) error{
		"before": func(func() error) error { return errFault },
		"after":  func(done func() error) error { return errors.Join(done(), errFault) },
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onBucket(t)
			u := b.begin(content(6 * mib))
			b.faults.complete = fault
			u.send("PATCH", bytes.NewReader(u.whole), patchHeaders(0)...).wantProblem(t, http.StatusServiceUnavailable, "storage_unavailable")
			if name == "before" {
				if a := u.send("HEAD", nil); a.status != http.StatusServiceUnavailable {
					t.Errorf("HEAD answers %d %v; want 503 while the file is not in place", a.status, a.Header)
				}
			}
			b.faults.complete = nil
			u.wantWhole()
		})
	}
}

// An upload whose parts were removed does not exist, though tusd calls it complete.
func TestPartsThatWereRemoved(t *testing.T) {
	t.Parallel()
	b := onBucket(t)
	u := b.begin(content(6 * mib))
	u.patch(0, 5*mib)
	all := func(string, time.Time) (bool, error) { return true, nil }
	if n, err := b.blobs.AbortUnfinished(t.Context(), "upload/", all); err != nil || n != 1 {
		t.Fatalf("AbortUnfinished = %d, %v", n, err)
	}
	u.wantGone()
	u.post()
	u.patch(0, len(u.whole))
	u.wantWhole()
}
