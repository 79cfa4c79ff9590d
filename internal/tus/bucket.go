package tus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/s3store"

	"github.com/spool-video/spool/internal/room"
)

// BucketConfig says where a bucket is, and what is kept beside it.
type BucketConfig struct {
	Client   s3store.S3API
	Patient  func(*s3.Options) // for requests that a server may take minutes to answer
	Bucket   string
	Prefix   string // of all keys; empty, or ends with a slash
	PartSize int64  // the least, of all parts but the last
	MaxParts int64
	MaxBytes int64  // of the largest file
	Scratch  string // folder for parts on their way; what is in it is removed
}

type bucket struct {
	BucketConfig
	part int64
}

// partsAtOnce is how many parts of one request lie in the scratch folder: one
// being sent, one that waits, one being filled, and what the request before left.
const partsAtOnce = 4

// Bucket gathers pieces as the parts of an object that nobody sees until the
// last has come.
func Bucket(c BucketConfig) (Storage, error) {
	if err := os.RemoveAll(c.Scratch); err != nil {
		return nil, fmt.Errorf("clear parts of an earlier run: %w", err)
	}
	if err := os.MkdirAll(c.Scratch, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for parts: %w", err)
	}
	return &bucket{BucketConfig: c, part: max(c.PartSize, (c.MaxBytes+c.MaxParts-1)/c.MaxParts)}, nil
}

// store returns tusd's store for one request. Parts are sent one after the other,
// and all but the last have one size. tusd counts the parts that the bucket has
// to know how far an upload is: sent side by side, one could be there and the one
// before it not, and the file would have a hole.
func (b *bucket) store(ctx context.Context) s3store.S3Store {
	s := s3store.New(b.Bucket, &orderly{S3API: b.Client, patient: b.Patient, lasts: exchangeOf(ctx).hold.Lasts})
	s.ObjectPrefix = b.Prefix
	s.MinPartSize, s.PreferredPartSize, s.MaxMultipartParts = b.part, b.part, b.MaxParts
	s.MaxBufferedParts, s.TemporaryDirectory = 1, b.Scratch
	s.SetConcurrentPartUploads(1)
	return s
}

func (b *bucket) create(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	return b.store(ctx).NewUpload(ctx, info)
}

func (b *bucket) open(ctx context.Context, key string) (handler.Upload, error) {
	record := b.Prefix + key + ".info"
	out, err := b.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: &record})
	if hasCode(err, "NoSuchKey") {
		return nil, handler.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	var info handler.FileInfo
	if err := json.NewDecoder(out.Body).Decode(&info); err != nil {
		return nil, fmt.Errorf("read the record of an upload: %w", err)
	}
	return b.store(ctx).GetUpload(ctx, info.ID) // which names the parts
}

// room asks about the scratch folder: a bucket has as much as is paid for.
func (b *bucket) room(s Service, _ int64) error {
	free, err := room.Free(b.Scratch)
	if err != nil {
		return err
	}
	return s.RoomBeside(partsAtOnce*b.part, free)
}

func (b *bucket) file(handler.FileInfo) string { return "" }

func (b *bucket) gone(err error) bool { return hasCode(err, "NoSuchUpload") }

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[smithy.APIError](err)
	return ok && e.ErrorCode() == code
}

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
// they are the beginning of is about to be sent.
type orderly struct {
	s3store.S3API
	patient func(*s3.Options)
	lasts   func() bool

	failed error
	stale  *s3.DeleteObjectInput
}

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
	o.failed = err
	return out, err
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
	out, err := o.S3API.PutObject(ctx, in, opts...)
	if err == nil && isPart(in.Key) {
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

func isPart(key *string) bool { return key != nil && strings.HasSuffix(*key, ".part") }

func (o *orderly) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, opts ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	return o.S3API.CompleteMultipartUpload(ctx, in, append(opts, o.patient)...)
}
