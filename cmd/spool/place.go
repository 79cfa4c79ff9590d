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
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/backup"
)

// Place says where a service keeps its data and its videos.
type Place struct {
	Location
	StorageURL string `name:"storage-url" placeholder:"URL" help:"Object storage, such as s3://bucket/prefix?region=eu-central-1. Empty: the data directory."`
}

// faults returns what is wrong with the place, one sentence each.
func (l *Place) faults() []string {
	faults := l.Location.faults()
	if l.StorageURL == "" {
		return faults
	}
	if err := s3.CheckURL(l.StorageURL); err != nil {
		faults = append(faults, fmt.Sprintf("storage_url: %v.", err))
	}
	return faults
}

// usesDisk reports whether something is kept in the data directory, which has one owner then.
func (l *Place) usesDisk() bool { return l.DatabaseURL == "" || l.StorageURL == "" }

// openQueue opens the queue of a database.
func (l *Place) openQueue(ctx context.Context, db *store.Store) (queue.Queue, error) {
	if l.DatabaseURL != "" {
		return river.Open(ctx, db, river.Options{})
	}
	if err := db.Migrate(ctx, "queue", local.Migrations); err != nil {
		return nil, err
	}
	return local.New(db.Writer(), local.Options{Read: db.Reader()}), nil
}

// openBlobs opens the storage. secret is the key of ETags on a disk.
func (l *Place) openBlobs(ctx context.Context, secret string) (blob.Store, func() error, error) {
	if l.StorageURL != "" {
		bucket, err := openBucket(ctx, l.StorageURL, storageTimeout, slog.New(slog.DiscardHandler))
		return bucket, func() error { return nil }, err
	}
	files, err := disk.Open(filepath.Join(l.DataDir, objectsFolder), disk.Options{ETagKey: secret})
	if err != nil {
		return nil, nil, unwritable(l.DataDir, err)
	}
	return files, files.Close, nil
}

// openSource opens what is copied. A running server does not mind: nothing but a hold is written.
func (l *Place) openSource(ctx context.Context) (src backup.Source, closeAll func() error, err error) {
	db, _, err := openKeyDatabase(ctx, l.Location)
	if err != nil {
		return src, nil, err
	}
	id, err := db.Identity(ctx, uuid.NewString())
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	blobs, closeBlobs, err := l.openBlobs(ctx, id)
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	closeAll = func() error { return errors.Join(closeBlobs(), db.Close()) }
	q, err := l.openQueue(ctx, db)
	if err != nil {
		return src, nil, errors.Join(err, closeAll())
	}
	return backup.Source{Store: db, Queue: q, Blobs: blobs}, closeAll, nil
}

// openTarget prepares to fill an empty place. The data directory, if something is kept there, is locked
// until the target is closed.
func (l *Place) openTarget(ctx context.Context) (t *backup.Target, closeAll func() error, err error) {
	closeLock := func() error { return nil }
	if l.usesDisk() {
		lock, err := lockDir(l.DataDir)
		if err != nil {
			return nil, nil, err
		}
		closeLock = lock.unlock
	}
	blobs, closeBlobs, err := l.openBlobs(ctx, "")
	if err != nil {
		return nil, nil, errors.Join(err, closeLock())
	}
	t = &backup.Target{Blobs: blobs, Hook: crashPoint(), Examine: l.examine, Create: l.create, Open: func(ctx context.Context) (*store.Store, queue.Queue, error) {
		db, err := l.connect(ctx)
		if err != nil {
			return nil, nil, err
		}
		q, err := l.openQueue(ctx, db)
		if err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
		return db, q, nil
	}}
	return t, func() error { return errors.Join(closeBlobs(), closeLock()) }, nil
}

func (l *Place) databasePath() string { return filepath.Join(l.DataDir, databaseFile) }

// examine looks at the database of a target.
func (l *Place) examine(ctx context.Context) (found store.RestoreFound, err error) {
	if _, missing := os.Stat(l.databasePath()); l.DatabaseURL == "" && errors.Is(missing, fs.ErrNotExist) {
		return found, nil
	}
	db, err := l.connectAsIs(ctx)
	if err != nil {
		return found, err
	}
	found, err = store.ExamineForRestore(ctx, db)
	return found, errors.Join(err, db.Close())
}

// connectAsIs opens the database without touching its schema.
func (l *Place) connectAsIs(ctx context.Context) (*store.Store, error) {
	if l.DatabaseURL != "" {
		return store.ConnectPostgres(ctx, l.DatabaseURL)
	}
	return store.ConnectSQLite(ctx, l.databasePath())
}

// create makes an empty database. If there is one, it is that of an unfinished restore.
func (l *Place) create(ctx context.Context, migrations []string) (*store.Store, error) {
	found, err := l.examine(ctx)
	if err != nil {
		return nil, err
	}
	if found.Unfinished {
		db, err := l.connectAsIs(ctx)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(store.DropTables(ctx, db), db.Close()); err != nil {
			return nil, err
		}
	}
	if l.DatabaseURL == "" {
		return store.OpenSQLiteAt(ctx, l.databasePath(), migrations)
	}
	return store.OpenPostgresAt(ctx, l.DatabaseURL, migrations)
}
