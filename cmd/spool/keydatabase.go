package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
)

// The key commands open the database beside a running server, which SQLite allows, and so need no
// lock. They build the keys and nothing else of the service.

// openKeys opens the API keys of a database.
func openKeys(ctx context.Context, l Location) (keyStore, io.Closer, error) {
	db, now, err := openKeyDatabase(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	return auth.NewKeys(db, now.Now, slog.New(slog.DiscardHandler)), db, nil
}

// openSigningKeys opens the signing keys of a database. Rotation removes keys by maxLife.
func openSigningKeys(ctx context.Context, l Location, maxLife time.Duration) (signingKeyStore, io.Closer, error) {
	db, now, err := openKeyDatabase(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	keys, err := auth.LoadSigningKeys(ctx, db, now.Now, maxLife)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return keys, db, nil
}

// openKeyDatabase opens a database that exists. A data directory without one is the wrong one.
func openKeyDatabase(ctx context.Context, l Location) (*store.Store, *clock.Database, error) {
	if _, err := os.Stat(filepath.Join(l.DataDir, datadir.Database)); l.DatabaseURL == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &configError{[]string{fmt.Sprintf("no database in %s; start spool serve there once, or name the right --data-dir.", l.DataDir)}}
	}
	db, err := l.openStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	now, err := clock.NewDatabase(ctx, db.Now)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	db.UseClock(now.Now)
	return db, now, nil
}
