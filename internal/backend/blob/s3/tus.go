package s3

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
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/tus/tusd/v2/pkg/s3store"

	"github.com/spool-video/spool/internal/panics"
)

// Access is what the tus library needs, which talks to the bucket itself.
type Access struct {
	Client   s3store.S3API
	Slow     func(*sdk.Options) // for requests that a server may take minutes to answer
	Bucket   string
	Prefix   string // of all keys; empty, or ends with a slash
	PartSize int64  // the minimum, except for the last part
	MaxParts int64
}

// Access returns the access that this Store has.
func (s *Store) Access() Access {
	r := s.raw
	return Access{Client: r.client, Slow: r.slow, Bucket: r.bucket, Prefix: r.prefix, PartSize: r.partSize, MaxParts: maxParts}
}

// TusClient returns the client with which tusd handles one request. It writes only while
// leaseValid returns true.
func (a Access) TusClient(leaseValid func() bool) s3store.S3API {
	return &serialUploader{S3API: a.Client, slow: a.Slow, leaseValid: leaseValid}
}

// errLeaseLost means that another process may be writing to the upload by now.
var errLeaseLost = errors.New("the upload lease was lost")

// leaseCheckInterval is how soon a write in progress is cancelled after the lease
// has ended: sooner than another process can acquire it.
const leaseCheckInterval = 500 * time.Millisecond

// serialUploader is the S3 client of tusd for one request. It ensures that what
// tusd writes never makes the upload look longer than it is: after a part that
// failed, no more parts are sent, and no write continues after the upload lease was
// lost.
//
// Bytes that do not fill a part are stored as an object of their own, the incomplete
// part. tusd deletes it as soon as it has read it and writes a new one at the end of
// the request; if the process died in between, those bytes would be lost. So its
// deletion is deferred until the part that begins with these bytes is about to be
// sent. Its metadata says how many parts precede it: a part with a later number was
// abandoned by its sender, arrived nevertheless, and has the same bytes.
type serialUploader struct {
	s3store.S3API
	slow       func(*sdk.Options)
	leaseValid func() bool

	failed   error
	obsolete *sdk.DeleteObjectInput // the deferred deletion of the incomplete part
	parts    int32                  // that the upload has
}

// partsBefore is the metadata key under which an incomplete part says how many parts
// precede it.
const partsBefore = "parts"

// beginWrite returns the context of a write, which is cancelled when the lease is
// lost. The caller must call end afterwards.
func (s *serialUploader) beginWrite(ctx context.Context) (_ context.Context, end func(), err error) {
	if s.failed == nil && !s.leaseValid() {
		s.failed = errLeaseLost
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { cancel(panics.Catch(func() error { return s.watchLease(ctx) })) }()
	return ctx, func() { cancel(nil) }, s.failed
}

// watchLease returns when the lease is lost, or when ctx ends.
func (s *serialUploader) watchLease(ctx context.Context) error {
	ticker := time.NewTicker(leaseCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if !s.leaseValid() {
				return errLeaseLost
			}
		}
	}
}

func (s *serialUploader) UploadPart(ctx context.Context, in *sdk.UploadPartInput, opts ...func(*sdk.Options)) (*sdk.UploadPartOutput, error) {
	ctx, end, err := s.beginWrite(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	if s.obsolete != nil {
		if _, s.failed = s.S3API.DeleteObject(ctx, s.obsolete); s.failed != nil {
			return nil, s.failed
		}
		s.obsolete = nil
	}
	out, err := s.S3API.UploadPart(ctx, in, opts...)
	if s.failed = err; err == nil {
		s.parts = *in.PartNumber
	}
	return out, err
}

// ListParts omits parts that arrived late.
func (s *serialUploader) ListParts(ctx context.Context, in *sdk.ListPartsInput, opts ...func(*sdk.Options)) (*sdk.ListPartsOutput, error) {
	out, err := s.S3API.ListParts(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	incomplete, err := s.S3API.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: in.Bucket, Key: aws.String(*in.Key + incompleteSuffix)})
	if err != nil && codeOf(err) != "NotFound" {
		return nil, err
	}
	if err == nil {
		if before, err := strconv.ParseInt(incomplete.Metadata[partsBefore], 10, 32); err == nil {
			out.Parts = slices.DeleteFunc(out.Parts, func(p types.Part) bool { return int64(*p.PartNumber) > before })
		}
	}
	if n := len(out.Parts); n > 0 {
		s.parts = *out.Parts[n-1].PartNumber
	}
	return out, nil
}

func (s *serialUploader) DeleteObject(ctx context.Context, in *sdk.DeleteObjectInput, opts ...func(*sdk.Options)) (*sdk.DeleteObjectOutput, error) {
	if !isIncompletePart(in.Key) {
		return s.S3API.DeleteObject(ctx, in, opts...)
	}
	s.obsolete = in
	return &sdk.DeleteObjectOutput{}, nil
}

func (s *serialUploader) PutObject(ctx context.Context, in *sdk.PutObjectInput, opts ...func(*sdk.Options)) (*sdk.PutObjectOutput, error) {
	ctx, end, err := s.beginWrite(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	if !isIncompletePart(in.Key) {
		return s.S3API.PutObject(ctx, in, opts...)
	}
	in.Metadata = map[string]string{partsBefore: strconv.Itoa(int(s.parts))}
	out, err := s.S3API.PutObject(ctx, in, opts...)
	if err == nil {
		s.obsolete = nil // the new one has replaced it
	}
	return out, err
}

// maxRecord is larger than any record of an upload.
const maxRecord = 64 << 10

// GetObject reads records completely, because tusd does not close them.
func (s *serialUploader) GetObject(ctx context.Context, in *sdk.GetObjectInput, opts ...func(*sdk.Options)) (*sdk.GetObjectOutput, error) {
	out, err := s.S3API.GetObject(ctx, in, opts...)
	if err != nil || isIncompletePart(in.Key) {
		return out, err
	}
	defer out.Body.Close()
	record, err := io.ReadAll(io.LimitReader(out.Body, maxRecord))
	out.Body = io.NopCloser(bytes.NewReader(record))
	return out, err
}

// incompleteSuffix is what tusd appends to the key of an upload for its incomplete
// part.
const incompleteSuffix = ".part"

func isIncompletePart(key *string) bool {
	return key != nil && strings.HasSuffix(*key, incompleteSuffix)
}

func (s *serialUploader) CompleteMultipartUpload(ctx context.Context, in *sdk.CompleteMultipartUploadInput, opts ...func(*sdk.Options)) (*sdk.CompleteMultipartUploadOutput, error) {
	return s.S3API.CompleteMultipartUpload(ctx, in, append(opts, s.slow)...)
}
