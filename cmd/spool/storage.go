package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/web/tus"
)

// This is the only file of the program that knows which kinds of storage there are. A new
// one is checked in storageFaults and opened in openStorage.

// storageFaults returns what is wrong with the settings of the object storage.
func (c *Config) storageFaults() []string {
	if c.StorageURL == "" {
		return nil
	}
	var faults []string
	if err := s3.CheckURL(c.StorageURL); err != nil {
		faults = append(faults, fmt.Sprintf("storage_url: %v.", err))
	}
	if c.MaxUploadBytes > s3.MaxPut {
		faults = append(faults, fmt.Sprintf("max_upload_bytes is %d: object storage takes at most %d in one upload.", c.MaxUploadBytes, int64(s3.MaxPut)))
	}
	if c.MaxResumableBytes > s3.MaxObject {
		faults = append(faults, fmt.Sprintf("max_resumable_bytes is %d: object storage takes at most %d as one object.", c.MaxResumableBytes, int64(s3.MaxObject)))
	}
	return faults
}

// openStorage opens the bucket of the storage URL or, without one, the disk.
func (p *parts) openStorage(ctx context.Context, c *Config, log *slog.Logger) error {
	if c.StorageURL != "" {
		return p.openS3(ctx, c, log)
	}
	if c.DatabaseURL != "" {
		log.WarnContext(ctx, "the videos are on the disk of this machine: no other machine may share its database without a storage_url")
	}
	return p.openDisk(ctx, c, log)
}

func (p *parts) openDisk(ctx context.Context, c *Config, log *slog.Logger) error {
	dir := filepath.Join(c.DataDir, datadir.Objects)
	// The id of the database is secret and never changes.
	secret, err := p.store.Identity(ctx, uuid.NewString())
	if err != nil {
		return err
	}
	files, err := disk.Open(dir, disk.Options{ETagKey: secret})
	if err != nil {
		return err
	}
	p.closes = append(p.closes, files.Close)
	p.blobs, p.tidy = files, func(ctx context.Context) { clearTemp(ctx, files, log) }
	p.openResumable = func() (tus.Storage, error) { return tus.Disk(dir) }
	return nil
}

func clearTemp(ctx context.Context, files *disk.Store, log *slog.Logger) {
	if n, err := files.CleanTemp(ctx); err != nil {
		log.WarnContext(ctx, "could not remove temporary files", "err", err)
	} else if n > 0 {
		log.InfoContext(ctx, "temporary files of an earlier run removed", "files", n)
	}
}

func (p *parts) openS3(ctx context.Context, c *Config, log *slog.Logger) error {
	bucket, err := openBucket(ctx, c.StorageURL, storageTimeout, log)
	if err != nil {
		return err
	}
	if p.origin, err = bucket.Capabilities().Presign.Origin(ctx); err != nil {
		return err
	}
	p.blobs, p.tidy = bucket, func(ctx context.Context) { p.maintenance.AbortUploads(ctx) }
	// The tus library talks to the bucket itself, so it gets the client of the store.
	at := bucket.Access()
	p.openResumable = func() (tus.Storage, error) {
		return tus.Bucket(tus.BucketConfig{
			Client: at.TusClient, Open: func(ctx context.Context, key string) (io.ReadCloser, error) { return bucket.Open(ctx, key) },
			Bucket: at.Bucket, Prefix: at.Prefix, PartSize: at.PartSize, MaxParts: at.MaxParts,
			MaxBytes: int64(c.MaxResumableBytes), Scratch: filepath.Join(c.DataDir, datadir.Incoming),
		})
	}
	return nil
}

// storageTimeout is how long a start waits for a storage that does not respond. Later
// requests are retried for longer.
const storageTimeout = 25 * time.Second

// openBucket opens the storage, and logs when it has to wait for it.
func openBucket(ctx context.Context, url string, timeout time.Duration, log *slog.Logger) (*s3.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	slow := time.AfterFunc(timeout/5, func() {
		log.WarnContext(ctx, "waiting for the storage, which does not respond", "timeout", timeout.String())
	})
	defer slow.Stop()
	return s3.Open(ctx, url, s3.Options{})
}
