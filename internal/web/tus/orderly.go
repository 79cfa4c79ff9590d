package tus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/tus/tusd/v2/pkg/s3store"
)

// errLost means that another process may be writing to the upload by now.
var errLost = errors.New("the right to write to the upload has ended")

// lookEvery is how soon a write on its way is called off after the right to it has
// ended: sooner than another process can have it.
const lookEvery = 500 * time.Millisecond

// orderly sees to it that what tusd writes to a bucket during one request never
// makes the upload look longer than it is: after a part that failed come no
// more, and nothing is written, nor arrives late, when the right to do so has
// ended.
//
// Bytes that do not fill a part are an object of their own. tusd removes it as
// soon as it has read it, and writes a new one when the request ends; if the
// process dies in between, those bytes are lost. So it stays until the part that
// they are the beginning of is about to be sent. It says how many parts come
// before it: one with a later number was given up by its sender, arrived all the
// same, and has the same bytes.
type orderly struct {
	s3store.S3API
	patient func(*s3.Options)
	lasts   func() bool

	failed error
	stale  *s3.DeleteObjectInput
	parts  int32 // that the upload has
}

// partsBefore is where an object of bytes that do not fill a part says how many
// parts come before them.
const partsBefore = "parts"

// begin returns the context of a write, which ends with the right to write. The
// caller calls end when it is over.
func (o *orderly) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	if o.failed == nil && !o.lasts() {
		o.failed = errLost
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if !o.lasts() {
					cancel(errLost)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }, o.failed
}

func (o *orderly) UploadPart(ctx context.Context, in *s3.UploadPartInput, opts ...func(*s3.Options)) (*s3.UploadPartOutput, error) {
	ctx, end, err := o.begin(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	if o.stale != nil {
		if _, o.failed = o.S3API.DeleteObject(ctx, o.stale); o.failed != nil {
			return nil, o.failed
		}
		o.stale = nil
	}
	out, err := o.S3API.UploadPart(ctx, in, opts...)
	if o.failed = err; err == nil {
		o.parts = *in.PartNumber
	}
	return out, err
}

// ListParts leaves out parts that arrived late.
func (o *orderly) ListParts(ctx context.Context, in *s3.ListPartsInput, opts ...func(*s3.Options)) (*s3.ListPartsOutput, error) {
	out, err := o.S3API.ListParts(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	rest, err := o.S3API.HeadObject(ctx, &s3.HeadObjectInput{Bucket: in.Bucket, Key: aws.String(*in.Key + partSuffix)})
	if err != nil && !hasCode(err, "NotFound") {
		return nil, err
	}
	if err == nil {
		if before, err := strconv.ParseInt(rest.Metadata[partsBefore], 10, 32); err == nil {
			out.Parts = slices.DeleteFunc(out.Parts, func(p types.Part) bool { return int64(*p.PartNumber) > before })
		}
	}
	if n := len(out.Parts); n > 0 {
		o.parts = *out.Parts[n-1].PartNumber
	}
	return out, nil
}

func (o *orderly) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput, opts ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	if !isPart(in.Key) {
		return o.S3API.DeleteObject(ctx, in, opts...)
	}
	o.stale = in
	return &s3.DeleteObjectOutput{}, nil
}

func (o *orderly) PutObject(ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	ctx, end, err := o.begin(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	if !isPart(in.Key) {
		return o.S3API.PutObject(ctx, in, opts...)
	}
	in.Metadata = map[string]string{partsBefore: strconv.Itoa(int(o.parts))}
	out, err := o.S3API.PutObject(ctx, in, opts...)
	if err == nil {
		o.stale = nil // the new one has taken its place
	}
	return out, err
}

// maxRecord is more than the record of an upload ever has.
const maxRecord = 64 << 10

// GetObject reads records whole: tusd does not close them.
func (o *orderly) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	out, err := o.S3API.GetObject(ctx, in, opts...)
	if err != nil || isPart(in.Key) {
		return out, err
	}
	defer out.Body.Close()
	record, err := io.ReadAll(io.LimitReader(out.Body, maxRecord))
	out.Body = io.NopCloser(bytes.NewReader(record))
	return out, err
}

// partSuffix is what tusd adds to the key of an upload for such bytes.
const partSuffix = ".part"

func isPart(key *string) bool { return key != nil && strings.HasSuffix(*key, partSuffix) }

func (o *orderly) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, opts ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	return o.S3API.CompleteMultipartUpload(ctx, in, append(opts, o.patient)...)
}
