package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/backup"
)

// Backends says which database and which storage a service uses.
type Backends struct {
	Location
	StorageURL string `name:"storage-url" placeholder:"URL" help:"URL of the object storage, such as s3://bucket/prefix?region=eu-central-1. Empty: the data directory."`
}

// faults returns what is wrong with these settings, one sentence each.
func (b *Backends) faults() []string {
	faults := b.Location.faults()
	if b.StorageURL == "" {
		return faults
	}
	if err := s3.CheckURL(b.StorageURL); err != nil {
		faults = append(faults, fmt.Sprintf("storage_url: %v.", err))
	}
	return faults
}

// usesDisk reports whether something is kept in the data directory, which has one owner then.
func (b *Backends) usesDisk() bool { return b.DatabaseURL == "" || b.StorageURL == "" }

// openQueue opens the queue of a database.
func (b *Backends) openQueue(ctx context.Context, db *store.Store) (queue.Queue, error) {
	if b.DatabaseURL != "" {
		return river.Open(ctx, db, river.Options{})
	}
	if err := db.Migrate(ctx, "queue", local.Migrations); err != nil {
		return nil, err
	}
	return local.New(db.Writer(), local.Options{Read: db.Reader()}), nil
}

// openBlobs opens the storage. secret is the key of ETags on a disk.
func (b *Backends) openBlobs(ctx context.Context, secret string) (blob.Store, func() error, error) {
	if b.StorageURL != "" {
		bucket, err := openBucket(ctx, b.StorageURL, storageTimeout, slog.New(slog.DiscardHandler))
		return bucket, func() error { return nil }, err
	}
	files, err := disk.Open(filepath.Join(b.DataDir, datadir.Objects), disk.Options{ETagKey: secret})
	if err != nil {
		return nil, nil, datadir.Unwritable(b.DataDir, err)
	}
	return files, files.Close, nil
}

// openSource opens what is copied. A running server is not disturbed: nothing but a hold is written.
func (b *Backends) openSource(ctx context.Context) (src backup.Source, closeAll func() error, err error) {
	db, _, err := openKeyDatabase(ctx, b.Location)
	if err != nil {
		return src, nil, err
	}
	id, err := db.Identity(ctx, uuid.NewString())
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	blobs, closeBlobs, err := b.openBlobs(ctx, id)
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	closeAll = func() error { return errors.Join(closeBlobs(), db.Close()) }
	q, err := b.openQueue(ctx, db)
	if err != nil {
		return src, nil, errors.Join(err, closeAll())
	}
	return backup.Source{Store: db, Queue: q, Blobs: blobs}, closeAll, nil
}

// openTarget prepares to fill an empty database and storage. The data directory, if something is kept there,
// is locked until the target is closed.
func (b *Backends) openTarget(ctx context.Context) (t *backup.Target, closeAll func() error, err error) {
	closeLock := func() error { return nil }
	if b.usesDisk() {
		lock, err := datadir.Lock(b.DataDir)
		if err != nil {
			return nil, nil, err
		}
		closeLock = lock.Unlock
	}
	blobs, closeBlobs, err := b.openBlobs(ctx, "")
	if err != nil {
		return nil, nil, errors.Join(err, closeLock())
	}
	t = &backup.Target{Blobs: blobs, Hook: crashPoint(), Examine: b.examine, Create: b.create, Open: func(ctx context.Context) (*store.Store, queue.Queue, error) {
		db, err := b.connect(ctx)
		if err != nil {
			return nil, nil, err
		}
		q, err := b.openQueue(ctx, db)
		if err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
		return db, q, nil
	}}
	return t, func() error { return errors.Join(closeBlobs(), closeLock()) }, nil
}

func (b *Backends) databasePath() string { return filepath.Join(b.DataDir, datadir.Database) }

// examine looks at the database of a target.
func (b *Backends) examine(ctx context.Context) (found backup.Found, err error) {
	if _, missing := os.Stat(b.databasePath()); b.DatabaseURL == "" && errors.Is(missing, fs.ErrNotExist) {
		return found, nil
	}
	db, err := b.connectAsIs(ctx)
	if err != nil {
		return found, err
	}
	found, err = backup.Examine(ctx, db)
	return found, errors.Join(err, db.Close())
}

// connectAsIs opens the database without touching its schema.
func (b *Backends) connectAsIs(ctx context.Context) (*store.Store, error) {
	if b.DatabaseURL != "" {
		return store.ConnectPostgres(ctx, b.DatabaseURL)
	}
	return store.ConnectSQLite(ctx, b.databasePath())
}

// create makes an empty database. It first drops the tables that an unfinished restore left.
func (b *Backends) create(ctx context.Context, migrations []string) (*store.Store, error) {
	found, err := b.examine(ctx)
	if err != nil {
		return nil, err
	}
	if found.Unfinished {
		db, err := b.connectAsIs(ctx)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(backup.DropTables(ctx, db), db.Close()); err != nil {
			return nil, err
		}
	}
	if b.DatabaseURL == "" {
		return store.OpenSQLiteAt(ctx, b.databasePath(), migrations)
	}
	return store.OpenPostgresAt(ctx, b.DatabaseURL, migrations)
}
