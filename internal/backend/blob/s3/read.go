package s3

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/remote"
)

// Open returns the object, whose first bytes come with the response that describes
// it. Reads go to the server until ctx ends.
func (s *rawStore) Open(ctx context.Context, key string) (blob.Object, error) {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(key), Range: aws.String(remote.ByteRange(0, remote.HeadSize)),
	})
	if statusOf(err) == http.StatusRequestedRangeNotSatisfiable { // an empty object
		info, err := s.Stat(ctx, key)
		if err != nil {
			return nil, err
		}
		return openVersion(ctx, s.version(info), nil)
	}
	if err != nil {
		return nil, explain(err)
	}
	size, err := remote.TotalSize(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength))
	if err != nil {
		out.Body.Close()
		return nil, err
	}
	return openVersion(ctx, s.version(describe(key, size, out.ETag, out.LastModified)), out.Body)
}

// openVersion keeps a nil *remote.Object from becoming a blob.Object that is not nil.
func openVersion(ctx context.Context, v remote.Version, head io.ReadCloser) (blob.Object, error) {
	o, err := v.Open(ctx, head)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// version is what all reads of an open object go through.
func (s *rawStore) version(info blob.Info) remote.Version {
	return remote.Version{Getter: s, Info: info, Backoff: s.backoff}
}

// GetRange implements remote.RangeGetter. It does not rely on the server to honour
// the conditions of the request.
func (s *rawStore) GetRange(ctx context.Context, v blob.Info, off, end int64) (io.ReadCloser, error) {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(v.Key), IfMatch: quoted(v.ETag), Range: aws.String(remote.ByteRange(off, end)),
	})
	if err != nil {
		return nil, explain(err)
	}
	if etag := unquote(out.ETag); etag != v.ETag {
		err = fmt.Errorf("%w: its ETag is %s, not %s", blob.ErrChanged, etag, v.ETag)
	} else {
		err = remote.CheckRange(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength), off, end, v.Size)
	}
	if err != nil {
		out.Body.Close()
		return nil, err
	}
	return out.Body, nil
}

// Stat describes an object.
func (s *rawStore) Stat(ctx context.Context, key string) (blob.Info, error) {
	out, err := s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &s.bucket, Key: s.fullKey(key)})
	if statusOf(err) == http.StatusNotFound {
		// A response to HEAD has no body that could tell a missing object from a missing bucket.
		if err := s.Ping(ctx); err != nil {
			return blob.Info{}, err
		}
		return blob.Info{}, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return blob.Info{}, explain(err)
	}
	return describe(key, aws.ToInt64(out.ContentLength), out.ETag, out.LastModified), nil
}

// Fetch downloads the object to the new file path.
func (s *rawStore) Fetch(ctx context.Context, key, etag, path string) error {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: s.fullKey(key), IfMatch: quoted(etag)})
	if err != nil {
		return explain(err)
	}
	info := describe(key, aws.ToInt64(out.ContentLength), out.ETag, out.LastModified)
	if etag != "" && info.ETag != etag {
		out.Body.Close()
		return fmt.Errorf("%w: its ETag is %s, not %s", blob.ErrChanged, info.ETag, etag)
	}
	return s.version(info).Fetch(ctx, path, out.Body)
}

// FetchParts downloads some ranges of the object to the new file path.
func (s *rawStore) FetchParts(ctx context.Context, key, path string, ranges []blob.Range) (blob.Info, bool, error) {
	info, err := s.Stat(ctx, key)
	if err != nil {
		return blob.Info{}, false, err
	}
	return info, true, s.version(info).FetchParts(ctx, path, ranges)
}
