package s3

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spool-video/spool/internal/backend/blob"
)

var errNoResult = errors.New("the server did not describe the copy")

// Copy lets the server copy the object.
func (s *rawStore) Copy(ctx context.Context, from, to, etag string) (blob.Info, error) {
	if etag != "" {
		return s.copyVersion(ctx, from, to, etag)
	}
	return retryChanged(func() (blob.Info, error) { return s.copyVersion(ctx, from, to, "") })
}

// copyTries is how often a copy of any version starts again because its source was
// replaced meanwhile.
const copyTries = 5

// retryChanged calls do, which works on the version that it finds, and calls it
// again while that version is replaced under its hands.
func retryChanged[T any](do func() (T, error)) (T, error) {
	result, err := do()
	for range copyTries {
		if !errors.Is(err, blob.ErrChanged) {
			break
		}
		result, err = do()
	}
	return result, err
}

// copyVersion copies the object if its ETag is still etag; "" accepts any. The size that it reports
// is the size of the version that it copied.
func (s *rawStore) copyVersion(ctx context.Context, from, to, etag string) (blob.Info, error) {
	source, err := s.Stat(ctx, from)
	if err != nil {
		return blob.Info{}, err
	}
	if etag != "" && source.ETag != etag {
		return blob.Info{}, blob.ErrChanged
	}
	if source.Size > s.maxCopy {
		return s.copyParts(ctx, source, to)
	}
	ctx, cancel := withGrace(ctx, commitGrace)
	defer cancel()
	out, err := s.client.CopyObject(ctx, &sdk.CopyObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(to), CopySource: s.copySource(from), CopySourceIfMatch: quoted(source.ETag),
		// The type belongs to the new key, which may have another extension.
		MetadataDirective: types.MetadataDirectiveReplace, ContentType: contentType(to),
	}, s.slow)
	if err != nil {
		return blob.Info{}, explain(err)
	}
	if out.CopyObjectResult == nil {
		return blob.Info{}, errNoResult
	}
	return describe(to, source.Size, out.CopyObjectResult.ETag, out.CopyObjectResult.LastModified), nil
}

// copySource needs no escapes: a key has only characters that mean themselves in a URL.
func (s *rawStore) copySource(key string) *string {
	return aws.String(s.bucket + "/" + *s.fullKey(key))
}

// copyParts copies an object that is too large for one request.
func (s *rawStore) copyParts(ctx context.Context, source blob.Info, to string) (blob.Info, error) {
	u, err := s.beginCopy(ctx, source, to)
	if err != nil {
		return blob.Info{}, err
	}
	defer u.end()
	return u.complete()
}

// beginCopy has the server copy an object in parts. It returns when the last part is
// in flight.
func (s *rawStore) beginCopy(ctx context.Context, source blob.Info, to string) (*multipart, error) {
	u, err := s.begin(ctx, to, fileParallel)
	if err != nil {
		return nil, err
	}
	part := partSizeFor(source.Size, s.copyPart)
	for off := int64(0); off < source.Size; off += part {
		end := min(off+part, source.Size)
		var span *string // S3 takes no range of an object of less than 5 MB
		if end-off < source.Size {
			span = aws.String(byteRange(off, end))
		}
		u.add(end-off, func() {}, func(ctx context.Context, number int32) (*string, error) {
			out, err := s.client.UploadPartCopy(ctx, &sdk.UploadPartCopyInput{
				Bucket: &s.bucket, Key: s.fullKey(to), UploadId: u.id, PartNumber: &number, CopySourceRange: span,
				CopySource: s.copySource(source.Key), CopySourceIfMatch: quoted(source.ETag),
			}, s.slow)
			if err != nil {
				return nil, err
			}
			if out.CopyPartResult == nil {
				return nil, errNoResult
			}
			return out.CopyPartResult.ETag, nil
		})
	}
	return u, nil
}
