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
	// deleteTries is how often objects are deleted again that the server could
	// not delete because of some trouble of its own.
	deleteTries = 3
	// maxFaults is how many objects an error names.
	maxFaults = 5
)

// Delete removes the objects, a thousand with each request. One that cannot be
// removed does not keep the others.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := blob.CheckKey(key); err != nil {
			return err
		}
	}
	var faults []types.Error
	for batch := range slices.Chunk(keys, maxDelete) {
		left, err := s.deleteBatch(ctx, batch)
		if err != nil {
			return fmt.Errorf("delete objects: %w", err)
		}
		faults = append(faults, left...)
	}
	return s.deleteError(faults)
}

// deleteBatch returns the faults of those objects that are still there.
func (s *Store) deleteBatch(ctx context.Context, keys []string) (faults []types.Error, err error) {
	objects := make([]types.ObjectIdentifier, len(keys))
	for i, key := range keys {
		objects[i].Key = s.full(key)
	}
	for try := 1; ; try++ {
		out, err := s.client.DeleteObjects(ctx, &sdk.DeleteObjectsInput{
			Bucket: &s.bucket, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)},
		}, withContentMD5)
		if err != nil {
			return nil, explain(err)
		}
		faults = slices.DeleteFunc(out.Errors, func(e types.Error) bool { return aws.ToString(e.Code) == "NoSuchKey" })
		if len(faults) == 0 || try == deleteTries || !slices.ContainsFunc(faults, isPassing) {
			return faults, nil
		}
		if err := s.pause.wait(ctx, try); err != nil {
			return nil, err
		}
		objects = objects[:0]
		for _, e := range faults {
			objects = append(objects, types.ObjectIdentifier{Key: e.Key})
		}
	}
}

// isPassing reports whether a fault may be gone at the next try.
func isPassing(e types.Error) bool {
	return slices.Contains([]string{"InternalError", "SlowDown", "ServiceUnavailable", "OperationAborted"}, aws.ToString(e.Code))
}

func (s *Store) deleteError(faults []types.Error) error {
	var errs []error
	for i, e := range faults {
		if i == maxFaults {
			errs = append(errs, fmt.Errorf("and %d more", len(faults)-i))
			break
		}
		key, _ := s.keyOf(e.Key)
		errs = append(errs, fmt.Errorf("delete object %s: %s: %s", key, aws.ToString(e.Code), aws.ToString(e.Message)))
	}
	return errors.Join(errs...)
}

// withContentMD5 sends the MD5 of the body in place of the SDK's CRC32. Amazon
// takes either, and many other servers know no CRC32 here.
func withContentMD5(o *sdk.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		_, _ = stack.Initialize.Remove("AWSChecksum:SetupInputContext")
		_, _ = stack.Finalize.Remove("AWSChecksum:ComputeInputPayloadChecksum")
		return smithyhttp.AddContentChecksumMiddleware(stack)
	})
}
