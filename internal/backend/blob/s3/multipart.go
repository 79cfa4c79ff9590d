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
	"golang.org/x/sync/errgroup"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/panics"
)

// abortTimeout is how long removing the parts of a failed write may take. By then,
// its caller may have given up.
const abortTimeout = 30 * time.Second

// multipart is an object being written in parts, several at a time. The first error
// fails the write as a whole. The object becomes visible when it is completed; if it
// never is, end removes the parts.
type multipart struct {
	store *rawStore
	key   string
	id    *string
	done  bool

	ctx      context.Context // ends with the caller's, or with the first error
	fail     context.CancelCauseFunc
	sending  context.Context // of the parts in flight, which outlive ctx by settleGrace
	stop     context.CancelFunc
	inFlight errgroup.Group // only counts: errors go to fail

	count int32
	size  int64
	mu    sync.Mutex
	parts []types.CompletedPart
}

// begin starts a multipart upload that sends at most parallel parts at a time.
func (s *rawStore) begin(ctx context.Context, key string, parallel int) (*multipart, error) {
	out, err := s.client.CreateMultipartUpload(ctx, &sdk.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: s.fullKey(key), ContentType: contentType(key),
	})
	if err != nil {
		return nil, explain(err)
	}
	return newMultipart(ctx, s, key, out.UploadId, parallel), nil
}

func newMultipart(ctx context.Context, s *rawStore, key string, id *string, parallel int) *multipart {
	u := &multipart{store: s, key: key, id: id}
	u.ctx, u.fail = context.WithCancelCause(ctx)
	u.sending, u.stop = withGrace(u.ctx, settleGrace)
	u.inFlight.SetLimit(parallel)
	return u
}

// send uploads the next part in the background. When body is no longer needed, it
// calls release, unless that is nil.
func (u *multipart) send(size int64, body io.ReadSeeker, release func()) {
	if release == nil {
		release = func() {}
	}
	u.add(size, release, func(ctx context.Context, number int32) (*string, error) {
		out, err := u.store.client.UploadPart(ctx, &sdk.UploadPartInput{
			Bucket: &u.store.bucket, Key: u.store.fullKey(u.key), UploadId: u.id,
			PartNumber: &number, Body: body, ContentLength: &size,
		})
		if err != nil {
			return nil, err
		}
		return out.ETag, nil
	})
}

// add has do make the next part in the background, as soon as there is room, and then calls release.
// When the write has failed already, it only calls release.
func (u *multipart) add(size int64, release func(), do func(ctx context.Context, number int32) (etag *string, err error)) {
	u.count++
	u.size += size
	number := u.count
	if number > maxParts {
		u.fail(fmt.Errorf("the object is larger than %d parts", maxParts))
	}
	u.inFlight.Go(func() error {
		defer release()
		if u.ctx.Err() != nil {
			return nil
		}
		var etag *string
		err := panics.Catch(func() (err error) {
			etag, err = do(u.sending, number)
			return err
		})
		if err != nil {
			u.fail(fmt.Errorf("part %d: %w", number, explain(err)))
			return nil
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.parts = append(u.parts, types.CompletedPart{ETag: quoted(unquote(etag)), PartNumber: &number})
		return nil
	})
}

// wait waits until no part is in flight, and returns why the write failed.
func (u *multipart) wait() error {
	_ = u.inFlight.Wait() // which has no errors
	return context.Cause(u.ctx)
}

// complete waits for all parts and makes the object visible.
func (u *multipart) complete() (blob.Info, error) {
	if err := u.wait(); err != nil {
		return blob.Info{}, err
	}
	return u.publish(u.ctx)
}

// publish makes the object visible. All parts must have arrived.
func (u *multipart) publish(ctx context.Context) (blob.Info, error) {
	slices.SortFunc(u.parts, func(a, b types.CompletedPart) int { return cmp.Compare(*a.PartNumber, *b.PartNumber) })
	commit, cancel := withGrace(ctx, commitGrace)
	defer cancel()
	out, err := u.store.client.CompleteMultipartUpload(commit, &sdk.CompleteMultipartUploadInput{
		Bucket: &u.store.bucket, Key: u.store.fullKey(u.key), UploadId: u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	}, u.store.slow)
	if codeOf(err) == "NoSuchUpload" {
		return u.completedBefore(ctx, err)
	}
	if err != nil {
		return blob.Info{}, explain(err)
	}
	u.done = true
	return blob.Info{Key: u.key, Size: u.size, ETag: unquote(out.ETag), Modified: u.store.responseTime(out.ResultMetadata)}, nil
}

// completedBefore checks whether the object is there after all: the response to an
// earlier try may have been lost.
func (u *multipart) completedBefore(ctx context.Context, cause error) (blob.Info, error) {
	info, err := u.store.Stat(ctx, u.key)
	if err != nil || info.Size != u.size || info.ETag != expectedETag(u.parts) {
		return blob.Info{}, cause
	}
	u.done = true
	return info, nil
}

// expectedETag is the ETag that nearly every server gives an object in parts: the MD5
// of their MD5s, and their number.
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

// end removes the parts unless they have become an object. What it fails to remove,
// AbortUnfinished will.
func (u *multipart) end() {
	u.fail(nil) // a part in flight gets some time to arrive
	_ = u.wait()
	u.stop()
	if u.done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), abortTimeout)
	defer cancel()
	_ = u.store.abort(ctx, u.store.fullKey(u.key), u.id)
}

func (s *rawStore) abort(ctx context.Context, fullKey, id *string) error {
	_, err := s.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &s.bucket, Key: fullKey, UploadId: id})
	if codeOf(err) == "NoSuchUpload" {
		return nil
	}
	return err
}

// AbortUnfinished removes the parts of writes that were never completed, because a
// process was killed or because a client never sent the rest.
func (s *rawStore) AbortUnfinished(ctx context.Context, prefix string, drop func(key string, begun time.Time) (bool, error)) (int, error) {
	count := 0
	pages := sdk.NewListMultipartUploadsPaginator(s.client, &sdk.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: s.fullKey(prefix)})
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
