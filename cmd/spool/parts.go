package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/tracing"
	"github.com/spool-video/spool/internal/doctor"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/web/tus"
)

// parts is what the service stands on: SQLite, the local disk and a queue in
// this process, or PostgreSQL, S3 and a queue that many machines share.
type parts struct {
	store *store.Store
	blobs blob.Store
	queue queue.Queue
	services
	log *slog.Logger

	origin        string                      // of the addresses that lead clients to the storage; "" where none do
	tidy          func(context.Context)       // removes what a crash left in the storage
	openResumable func() (tus.Storage, error) // opens where resumable uploads are kept until they are complete
	closes        []func() error              // in the order of opening

	importStorage imports.Storage // where files that are fetched are kept until they are complete; nil in a worker
}

// openParts opens what the settings name and puts the service on it. engine is nil where no tasks run,
// traces where nothing is traced.
func (c *Config) openParts(ctx context.Context, log *slog.Logger, m *metrics.Metrics, engine *taskEngine, traces *tracing.Tracing) (_ *parts, err error) {
	p := &parts{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.openDatabase(ctx, c, log, c.workerInfo(engine)); err != nil {
		return nil, err
	}
	p.queue = traces.Queue(p.queue)
	if err := p.openStorage(ctx, c, log); err != nil {
		return nil, err
	}
	if !c.servesRequests() {
		p.warnOfSecrets(ctx, log)
	}
	return p, p.buildServices(ctx, c, log, m, c.codecChoice(engine))
}

// warnOfSecrets says which secrets somebody who takes over this worker could read.
func (p *parts) warnOfSecrets(ctx context.Context, log *slog.Logger) {
	tables, err := store.ReadableSecrets(ctx, p.store)
	if err != nil {
		log.WarnContext(ctx, "could not ask which tables this worker may read", "err", err)
	} else if len(tables) > 0 {
		log.WarnContext(ctx, "the database user of this worker can read secrets, which it does not need: "+doctor.SecretsFix, "tables", tables)
	}
}

// openDatabase opens the store and the queue, which live in one database so
// that one transaction changes all.
func (p *parts) openDatabase(ctx context.Context, c *Config, log *slog.Logger, about queue.About) (err error) {
	if p.store, err = c.Location.openStore(ctx); err != nil {
		return err
	}
	p.closes = append(p.closes, p.store.Close)
	if newer := p.store.Newer(); len(newer) > 0 {
		log.Warn("the database was changed by a newer Spool; this one uses only what it knows", "migrations", newer)
	}
	if c.DatabaseURL != "" {
		p.queue, err = river.Open(ctx, p.store, river.Options{Log: log, Heartbeat: heartbeat(), About: about})
		return err
	}
	if err := p.store.Migrate(ctx, "queue", local.Migrations); err != nil {
		return err
	}
	p.queue = local.New(p.store.Writer(), local.Options{Read: p.store.Reader(), Log: log, About: about})
	return nil
}

// openStore opens the database alone, unless it is only half there.
func (l *Location) openStore(ctx context.Context) (*store.Store, error) {
	db, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	unfinished, err := backup.Restoring(ctx, db)
	if err == nil && unfinished {
		err = errors.New("a restore or a migration into this database was not finished: run the same command again, or begin with an empty database")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connect opens the database alone.
func (l *Location) connect(ctx context.Context) (*store.Store, error) {
	if l.DatabaseURL != "" {
		return openPostgres(ctx, l.DatabaseURL)
	}
	if err := os.MkdirAll(l.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	path := filepath.Join(l.DataDir, datadir.Database)
	db, err := store.OpenSQLite(ctx, path)
	if err != nil {
		err = datadir.Forbidden(path, err)
	}
	return db, err
}

// databaseTimeout is how long a start waits for a database that does not respond: it may
// be starting as well, or be overloaded.
const databaseTimeout = 15 * time.Second

func openPostgres(ctx context.Context, address string) (*store.Store, error) {
	deadline := time.Now().Add(databaseTimeout)
	for {
		st, err := store.OpenPostgres(ctx, address)
		if !store.MayAnswerSoon(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return st, err
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// Close closes everything, the last one first.
func (p *parts) Close() error {
	var errs []error
	for _, closeIt := range slices.Backward(p.closes) {
		errs = append(errs, closeIt())
	}
	return errors.Join(errs...)
}

// maintain clears what a crash left, follows the signing keys, if it has any, and does the
// maintenance until ctx ends.
func (p *parts) maintain(ctx context.Context) {
	var all sync.WaitGroup
	if p.signing != nil {
		all.Go(func() {
			panics.Log(ctx, p.log, "following the signing keys panicked", func() { p.signing.Follow(ctx, p.log) })
		})
	}
	if p.audience != nil {
		all.Go(func() { panics.Log(ctx, p.log, "counting the audience panicked", func() { p.audience.Run(ctx) }) })
	}
	all.Go(func() { p.removeOldEvents(ctx) })
	all.Go(func() { panics.Log(ctx, p.log, "clearing the storage panicked", func() { p.tidy(ctx) }) })
	all.Go(func() { panics.Log(ctx, p.log, "indexing captions panicked", func() { p.indexer.Run(ctx) }) })
	all.Go(func() { panics.Log(ctx, p.log, "maintenance panicked", func() { p.maintenance.Run(ctx) }) })
	all.Wait()
}
