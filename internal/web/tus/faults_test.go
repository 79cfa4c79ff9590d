package tus_test

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/tus/tusd/v2/pkg/s3store"
)

// faults is an S3 client that fails on demand.
type faults struct {
	s3store.S3API
	bucket   string
	part     func(ctx context.Context, number int32) error // before a part is sent
	complete func(done func() error) error
	record   func(key string) // before any object is put
}

// client returns the client of the bucket, for requests that tusd does not send.
func (f *faults) client() *sdk.Client { return f.S3API.(*sdk.Client) }

func (f *faults) UploadPart(ctx context.Context, in *sdk.UploadPartInput, opts ...func(*sdk.Options)) (*sdk.UploadPartOutput, error) {
	if f.part != nil {
		if err := f.part(ctx, *in.PartNumber); err != nil {
			return nil, err
		}
	}
	return f.S3API.UploadPart(ctx, in, opts...)
}

func (f *faults) PutObject(ctx context.Context, in *sdk.PutObjectInput, opts ...func(*sdk.Options)) (*sdk.PutObjectOutput, error) {
	if f.record != nil {
		f.record(*in.Key)
	}
	return f.S3API.PutObject(ctx, in, opts...)
}

func (f *faults) CompleteMultipartUpload(ctx context.Context, in *sdk.CompleteMultipartUploadInput, opts ...func(*sdk.Options)) (out *sdk.CompleteMultipartUploadOutput, err error) {
	done := func() error {
		out, err = f.S3API.CompleteMultipartUpload(ctx, in, opts...)
		return err
	}
	if f.complete != nil {
		err = f.complete(done)
		return out, err
	}
	return out, done()
}
