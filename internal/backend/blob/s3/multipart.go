package s3

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// settleTimeout is how long a failed write waits for its parts on their way:
	// one that is cut off may still arrive after the abort, and would stay.
	settleTimeout = 5 * time.Second
	// abortTimeout is how long taking back the parts may take, after whoever
	// wanted the write has given up.
	abortTimeout = 30 * time.Second
)

// multipart is an object being written in parts. It becomes visible when it is
// completed; what was never completed is taken back by end.
type multipart struct {
	store *rawStore
	key   string
	id    *string
	done  bool

	ctx  context.Context // of the write: it ends with the caller's, or with the first fault
	fail context.CancelCauseFunc

	sending context.Context // of the parts on their way, which may outlive the write
	stop    context.CancelFunc
	flight  sync.WaitGroup
	seats   chan struct{} // one for each part on its way

	count int32
	size  int64
	mu    sync.Mutex
	parts []types.CompletedPart
}

// begin starts an object in parts, of which so many are sent at once.
func (s *rawStore) begin(ctx context.Context, key string, flight int) (*multipart, error) {
	out, err := s.client.CreateMultipartUpload(ctx, &sdk.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: s.full(key), ContentType: contentType(key),
	})
	if err != nil {
		return nil, explain(err)
	}
	u := &multipart{store: s, key: key, id: out.UploadId, seats: make(chan struct{}, flight)}
	u.ctx, u.fail = context.WithCancelCause(ctx)
	u.sending, u.stop = context.WithCancel(context.WithoutCancel(ctx))
	return u, nil
}

// send uploads the next part, while the caller goes on. In the end free, if not
// nil, says that body is not needed any more.
func (u *multipart) send(size int64, body io.ReadSeeker, free func()) {
	if free == nil {
		free = func() {}
	}
	u.add(size, free, func(ctx context.Context, number int32) (*string, error) {
		out, err := u.store.client.UploadPart(ctx, &sdk.UploadPartInput{
			Bucket: &u.store.bucket, Key: u.store.full(u.key), UploadId: u.id,
			PartNumber: &number, Body: body, ContentLength: &size,
		})
		if err != nil {
			return nil, err
		}
		return out.ETag, nil
	})
}

// add lets do make the next part as soon as there is a seat, and then calls
// free. When the write has failed already, it only calls free.
func (u *multipart) add(size int64, free func(), do func(ctx context.Context, number int32) (etag *string, err error)) {
	u.count++
	u.size += size
	number := u.count
	if number > maxParts {
		u.fail(fmt.Errorf("the object is larger than %d parts", maxParts))
	}
	if !u.takeSeat() {
		free()
		return
	}
	u.flight.Go(func() {
		defer func() { <-u.seats }()
		defer free()
		etag, err := do(u.sending, number)
		if err != nil {
			u.fail(fmt.Errorf("part %d: %w", number, explain(err)))
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.parts = append(u.parts, types.CompletedPart{ETag: quoted(unquote(etag)), PartNumber: &number})
	})
}

// takeSeat waits for a free seat. It reports false when the write has failed.
func (u *multipart) takeSeat() bool {
	if u.ctx.Err() != nil {
		return false
	}
	select {
	case u.seats <- struct{}{}:
		return true
	case <-u.ctx.Done():
		return false
	}
}

// cause returns why the write failed, which may be what let err happen.
func (u *multipart) cause(err error) error {
	if u.ctx.Err() != nil {
		return context.Cause(u.ctx)
	}
	return err
}

// complete waits for all parts and makes the object visible.
func (u *multipart) complete() (blob.Info, error) {
	if err := u.arrive(); err != nil {
		return blob.Info{}, err
	}
	return u.publish()
}

// arrive waits, once, for all parts. None can be added after that.
func (u *multipart) arrive() error {
	for range cap(u.seats) { // who has all seats knows that nothing is on its way
		if !u.takeSeat() {
			return context.Cause(u.ctx)
		}
	}
	return nil
}

// publish makes the object visible, all of whose parts have arrived.
func (u *multipart) publish() (blob.Info, error) {
	slices.SortFunc(u.parts, func(a, b types.CompletedPart) int { return cmp.Compare(*a.PartNumber, *b.PartNumber) })
	ctx, cancel := settled(u.ctx)
	defer cancel()
	out, err := u.store.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
		Bucket: &u.store.bucket, Key: u.store.full(u.key), UploadId: u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	}, u.store.patient)
	if codeOf(err) == "NoSuchUpload" {
		return u.completedBefore(err)
	}
	if err != nil {
		return blob.Info{}, explain(err)
	}
	u.done = true
	return blob.Info{Key: u.key, Size: u.size, ETag: unquote(out.ETag), Modified: u.store.answered(out.ResultMetadata)}, nil
}

// completedBefore looks whether the object is there after all: the answer to an
// earlier try may have been lost on its way.
func (u *multipart) completedBefore(cause error) (blob.Info, error) {
	info, err := u.store.Stat(u.ctx, u.key)
	if err != nil || info.Size != u.size || info.ETag != expectedETag(u.parts) {
		return blob.Info{}, cause
	}
	u.done = true
	return info, nil
}

// expectedETag is what the ETag of an object in parts is nearly everywhere: the
// MD5 of their MD5s, and how many they are.
func expectedETag(parts []types.CompletedPart) string {
	sum := md5.New()
	for _, p := range parts {
		b, err := hex.DecodeString(unquote(p.ETag))
		if err != nil {
			return ""
		}
		sum.Write(b)
	}
	return fmt.Sprintf("%x-%d", sum.Sum(nil), len(parts))
}

// end takes the parts back unless they have become an object. What it fails to
// take back, AbortUnfinished will.
func (u *multipart) end() {
	patience := time.AfterFunc(settleTimeout, u.stop)
	u.flight.Wait()
	patience.Stop()
	defer u.stop()
	defer u.fail(nil)
	if u.done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), abortTimeout)
	defer cancel()
	_ = u.store.abort(ctx, u.store.full(u.key), u.id)
}

func (s *rawStore) abort(ctx context.Context, fullKey, id *string) error {
	_, err := s.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &s.bucket, Key: fullKey, UploadId: id})
	if codeOf(err) == "NoSuchUpload" {
		return nil
	}
	return err
}

// AbortUnfinished takes back the parts of writes that were never completed,
// because a process was killed or because a client never sent the rest.
func (s *rawStore) AbortUnfinished(ctx context.Context, prefix string, drop func(key string, begun time.Time) (bool, error)) (int, error) {
	count := 0
	pages := sdk.NewListMultipartUploadsPaginator(s.client, &sdk.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: s.full(prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return count, fmt.Errorf("list unfinished uploads: %w", err)
		}
		for _, u := range page.Uploads {
			if gone, err := drop(s.keyOf(u.Key), aws.ToTime(u.Initiated)); err != nil || !gone {
				if err != nil {
					return count, err
				}
				continue
			}
			if err := s.abort(ctx, u.Key, u.UploadId); err != nil {
				return count, fmt.Errorf("%s: %w", s.keyOf(u.Key), err)
			}
			count++
		}
	}
	return count, nil
}
