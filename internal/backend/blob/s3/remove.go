package s3

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// maxDelete is how many objects S3 deletes with one request.
	maxDelete = 1000
	// deleteTries is how often a deletion is tried that fails with an internal error
	// of the server.
	deleteTries = 3
)

// Delete removes the objects, a thousand with each request.
func (s *rawStore) Delete(ctx context.Context, keys ...string) error {
	var errs []error
	for batch := range slices.Chunk(keys, maxDelete) {
		failures, err := s.deleteBatch(ctx, batch)
		if err != nil && ctx.Err() != nil {
			return errors.Join(err, blob.JoinErrors(errs))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%d objects from %s on: %w", len(batch), batch[0], err))
		}
		for _, f := range failures {
			errs = append(errs, fmt.Errorf("%s: %s: %s", s.keyOf(f.Key), aws.ToString(f.Code), aws.ToString(f.Message)))
		}
	}
	return blob.JoinErrors(errs)
}

// deleteBatch returns the errors of those objects that are still there.
func (s *rawStore) deleteBatch(ctx context.Context, keys []string) (failures []types.Error, err error) {
	objects := make([]types.ObjectIdentifier, len(keys))
	for i, key := range keys {
		objects[i].Key = s.fullKey(key)
	}
	for try := 1; ; try++ {
		out, err := s.client.DeleteObjects(ctx, &sdk.DeleteObjectsInput{
			Bucket: &s.bucket, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)},
		}, withContentMD5)
		if err != nil {
			return nil, explain(err)
		}
		failures = slices.DeleteFunc(out.Errors, func(e types.Error) bool { return aws.ToString(e.Code) == "NoSuchKey" })
		if len(failures) == 0 || try == deleteTries || !slices.ContainsFunc(failures, isTransient) {
			return failures, nil
		}
		if err := s.backoff.wait(ctx, try); err != nil {
			return nil, err
		}
		objects = objects[:0]
		for _, e := range failures {
			objects = append(objects, types.ObjectIdentifier{Key: e.Key})
		}
	}
}

// isTransient reports whether the next try may succeed.
func isTransient(e types.Error) bool {
	return slices.Contains([]string{"InternalError", "SlowDown", "ServiceUnavailable", "OperationAborted"}, aws.ToString(e.Code))
}

// withContentMD5 sends the MD5 of the body instead of the SDK's CRC32. Amazon accepts
// either; many other servers do not know CRC32 here.
func withContentMD5(o *sdk.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		_, _ = stack.Initialize.Remove("AWSChecksum:SetupInputContext")
		_, _ = stack.Finalize.Remove("AWSChecksum:ComputeInputPayloadChecksum")
		return smithyhttp.AddContentChecksumMiddleware(stack)
	})
}
