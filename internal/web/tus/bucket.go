package tus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/s3store"

	"github.com/spool-video/spool/internal/backend/diskspace"
)

// BucketConfig says which bucket to use, and how.
type BucketConfig struct {
	// Client returns the client for one request, which writes only while leaseValid returns true.
	Client func(leaseValid func() bool) s3store.S3API
	// Open opens an object. A missing one is fs.ErrNotExist.
	Open func(ctx context.Context, key string) (io.ReadCloser, error)

	Bucket   string
	Prefix   string // of all keys; empty, or ends with a slash
	PartSize int64  // minimum of all parts but the last
	MaxParts int64
	MaxBytes int64  // of the largest file
	Scratch  string // directory for parts in transit; it is emptied at the start
}

type bucket struct {
	BucketConfig
	partSize int64
}

// bufferedParts is how many parts of one request are in the scratch directory: one
// being sent, one waiting, one being filled, and the incomplete part that the
// previous request left.
const bufferedParts = 4

// Bucket stores uploads as S3 multipart uploads, which become visible as an object
// when they are completed.
func Bucket(c BucketConfig) (Storage, error) {
	if err := os.RemoveAll(c.Scratch); err != nil {
		return nil, fmt.Errorf("remove the parts of an earlier run: %w", err)
	}
	if err := os.MkdirAll(c.Scratch, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for parts: %w", err)
	}
	return &bucket{BucketConfig: c, partSize: max(c.PartSize, (c.MaxBytes+c.MaxParts-1)/c.MaxParts)}, nil
}

// store returns tusd's S3 store for one request. Parts are sent one after the
// other, and all but the last have the same size. tusd computes the offset from the
// parts that the bucket has: if parts were sent in parallel, one could be stored
// without the one before it, and the file would have a gap.
func (b *bucket) store(ctx context.Context) s3store.S3Store {
	s := s3store.New(b.Bucket, b.Client(requestOf(ctx).lease.Valid))
	s.ObjectPrefix = b.Prefix
	s.MinPartSize, s.PreferredPartSize, s.MaxMultipartParts = b.partSize, b.partSize, b.MaxParts
	s.MaxBufferedParts, s.TemporaryDirectory = 1, b.Scratch
	s.SetConcurrentPartUploads(1)
	return s
}

func (b *bucket) create(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	return b.store(ctx).NewUpload(ctx, info)
}

func (b *bucket) open(ctx context.Context, key string) (handler.Upload, error) {
	record, err := b.Open(ctx, key+".info")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, handler.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer record.Close()
	var info handler.FileInfo
	if err := json.NewDecoder(record).Decode(&info); err != nil {
		return nil, fmt.Errorf("read the record of an upload: %w", err)
	}
	return b.store(ctx).GetUpload(ctx, info.ID) // the ID contains the ID of the multipart upload
}

// checkSpace checks the scratch directory: a bucket is never full.
func (b *bucket) checkSpace(s Services, _ int64) error {
	free, err := diskspace.Free(b.Scratch)
	if err != nil {
		return err
	}
	return s.Space.CheckDisk(bufferedParts*b.partSize, free)
}

func (b *bucket) file(handler.FileInfo) string { return "" }

func (b *bucket) isMissing(err error) bool {
	e, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	return ok && e.ErrorCode() == "NoSuchUpload"
}
