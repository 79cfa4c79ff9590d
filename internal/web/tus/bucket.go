package tus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/s3store"

	"github.com/spool-video/spool/internal/backend/diskspace"
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
	free, err := diskspace.Free(b.Scratch)
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
