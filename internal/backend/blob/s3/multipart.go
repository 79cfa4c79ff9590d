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
	"github.com/spool-video/spool/internal/backend/blob/remote"
)

// abortTimeout is how long removing the parts of a failed write may take. By then,
// its caller may have given up.
const abortTimeout = 30 * time.Second

// multipart is an object being written in parts. It becomes visible when it is
// completed; if it never is, end removes the parts.
type multipart struct {
	*remote.Parts
	store *rawStore
	key   string
	id    *string
	done  bool

	count int32
	size  int64
	mu    sync.Mutex
	parts []types.CompletedPart
}

// begin starts an object of which at most this many parts are in flight at a time.
func (s *rawStore) begin(ctx context.Context, key string, parallel int) (*multipart, error) {
	out, err := s.client.CreateMultipartUpload(ctx, &sdk.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: s.fullKey(key), ContentType: contentType(key),
	})
	if err != nil {
		return nil, explain(err)
	}
	return &multipart{Parts: remote.NewParts(ctx, parallel), store: s, key: key, id: out.UploadId}, nil
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

// add has do make the next part in the background, and then calls release.
func (u *multipart) add(size int64, release func(), do func(ctx context.Context, number int32) (etag *string, err error)) {
	u.count++
	u.size += size
	number := u.count
	if number > maxParts {
		u.Fail(fmt.Errorf("the object is larger than %d parts", maxParts))
	}
	u.Send(release, func(ctx context.Context) error {
		etag, err := do(ctx, number)
		if err != nil {
			return fmt.Errorf("part %d: %w", number, explain(err))
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.parts = append(u.parts, types.CompletedPart{ETag: quoted(unquote(etag)), PartNumber: &number})
		return nil
	})
}

// complete waits for all parts and makes the object visible.
func (u *multipart) complete() (blob.Info, error) {
	if err := u.Wait(); err != nil {
		return blob.Info{}, err
	}
	return u.publish()
}

// publish makes the object visible. All parts must have arrived.
func (u *multipart) publish() (blob.Info, error) {
	slices.SortFunc(u.parts, func(a, b types.CompletedPart) int { return cmp.Compare(*a.PartNumber, *b.PartNumber) })
	ctx, cancel := remote.CommitContext(u.Context())
	defer cancel()
	out, err := u.store.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
		Bucket: &u.store.bucket, Key: u.store.fullKey(u.key), UploadId: u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	}, u.store.slow)
	if codeOf(err) == "NoSuchUpload" {
		return u.completedBefore(err)
	}
	if err != nil {
		return blob.Info{}, explain(err)
	}
	u.done = true
	return blob.Info{Key: u.key, Size: u.size, ETag: unquote(out.ETag), Modified: u.store.responseTime(out.ResultMetadata)}, nil
}

// completedBefore checks whether the object is there after all: the response to an
// earlier try may have been lost.
func (u *multipart) completedBefore(cause error) (blob.Info, error) {
	info, err := u.store.Stat(u.Context(), u.key)
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
	u.Close()
	if u.done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.Context()), abortTimeout)
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
