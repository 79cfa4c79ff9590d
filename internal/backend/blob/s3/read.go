package s3

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
)

// Open returns the object, whose first bytes come with the response that describes
// it. Reads go to the server until ctx ends.
func (s *rawStore) Open(ctx context.Context, key string) (blob.Object, error) {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(key), Range: aws.String(byteRange(0, headSize)),
	})
	if statusOf(err) == http.StatusRequestedRangeNotSatisfiable { // an empty object
		info, err := s.Stat(ctx, key)
		if err != nil {
			return nil, err
		}
		return s.version(info).open(ctx, nil)
	}
	if err != nil {
		return nil, explain(err)
	}
	size, err := totalSize(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength))
	if err != nil {
		out.Body.Close()
		return nil, err
	}
	return s.version(describe(key, size, out.ETag, out.LastModified)).open(ctx, out.Body)
}

// version is what all reads of an open object go through.
func (s *rawStore) version(info blob.Info) version {
	get := func(ctx context.Context, off, end int64) (io.ReadCloser, error) {
		return s.getRange(ctx, info, off, end)
	}
	return version{info: info, backoff: s.backoff, get: get}
}

// getRange requests a part of a version. It does not rely on the server to honour the
// conditions of the request.
func (s *rawStore) getRange(ctx context.Context, v blob.Info, off, end int64) (io.ReadCloser, error) {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(v.Key), IfMatch: quoted(v.ETag), Range: aws.String(byteRange(off, end)),
	})
	if err != nil {
		return nil, explain(err)
	}
	if etag := unquote(out.ETag); etag != v.ETag {
		err = fmt.Errorf("%w: its ETag is %s, not %s", blob.ErrChanged, etag, v.ETag)
	} else {
		err = checkRange(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength), off, end, v.Size)
	}
	if err != nil {
		out.Body.Close()
		return nil, err
	}
	return out.Body, nil
}

// byteRange returns the value of a Range header for the bytes from off up to, but
// not including, end.
func byteRange(off, end int64) string { return fmt.Sprintf("bytes=%d-%d", off, end-1) }

// checkRange returns an error unless a response has exactly the bytes from off up
// to end of an object of this size. Not every server honours the range of every
// request. Without a Content-Range, the response is the whole object.
func checkRange(contentRange string, length, off, end, size int64) error {
	want := fmt.Sprintf("bytes %d-%d/%d", off, end-1, size)
	whole := contentRange == "" && off == 0 && length == end
	if contentRange != want && !whole {
		return fmt.Errorf("the server answered with %q instead of %q", contentRange, want)
	}
	return nil
}

// totalSize returns the size of the whole object from a response with a part of it.
func totalSize(contentRange string, length int64) (int64, error) {
	if contentRange == "" {
		return length, nil
	}
	_, total, _ := strings.Cut(contentRange, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the server answered with the range %q", contentRange)
	}
	return size, nil
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
	return s.version(info).fetch(ctx, path, out.Body)
}

// FetchParts downloads some ranges of the object to the new file path.
func (s *rawStore) FetchParts(ctx context.Context, key, path string, ranges []blob.Range) (blob.Info, bool, error) {
	info, err := s.Stat(ctx, key)
	if err != nil {
		return blob.Info{}, false, err
	}
	return info, true, s.version(info).fetchParts(ctx, path, ranges)
}
