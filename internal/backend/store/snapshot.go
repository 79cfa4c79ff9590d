package store

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/spool-video/spool/internal/video"
)

// Snapshot sees one moment of a database, for as long as it is open. It only reads, on a connection
// without the time limits of requests: a table may take minutes.
type Snapshot struct {
	Queries
	tx    *sql.Tx
	close func()
}

// OpenSnapshot begins to read a database. The caller closes it soon: while it is open, SQLite's log and
// PostgreSQL's tables cannot shrink.
func OpenSnapshot(ctx context.Context, s *Store) (*Snapshot, error) {
	db, done := s.read, func() {}
	if s.pool != nil {
		pool, err := s.unlimited(ctx, 1, "0")
		if err != nil {
			return nil, Wrap("connect to read everything", err)
		}
		other := stdlib.OpenDBFromPool(pool)
		db, done = other, func() { other.Close(); pool.Close() }
	}
	tx, err := db.BeginTx(ctx, snapshotOptions)
	if err != nil {
		done()
		return nil, Wrap("begin to read", err)
	}
	snapshot := &Snapshot{Queries: Queries{tx}, tx: tx, close: done}
	// The first statement fixes the moment.
	if _, err := AppliedMigrations(ctx, snapshot.Queries); err != nil {
		snapshot.Close()
		return nil, err
	}
	return snapshot, nil
}

// unlimited returns connections without time limits but one: how long a transaction may be idle, in
// milliseconds.
func (s *Store) unlimited(ctx context.Context, most int32, idle string) (*pgxpool.Pool, error) {
	config := s.pool.Config() // a copy
	config.MaxConns, config.MinConns, config.MinIdleConns = most, 0, 0
	config.ConnConfig.Tracer = nil
	settings := s.timeouts.sessionSettings()
	settings["lock_timeout"], settings["statement_timeout"], settings["idle_in_transaction_session_timeout"] = "0", "0", idle
	config.AfterConnect = withSettings(settings)
	return pgxpool.NewWithConfig(ctx, config)
}

// Close ends the reading.
func (s *Snapshot) Close() {
	_ = s.tx.Rollback() // there is nothing to commit
	s.close()
}

// QueryContext is for the queue, which has its own statements.
func (s *Snapshot) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	return rows, Wrap("read tasks", err)
}

// Videos returns the next videos by id, with their resolutions, also those that are marked deleted.
// Their plans, which may have megabytes, are not read.
func (s *Snapshot) Videos(ctx context.Context, after video.ID, limit int) ([]video.Video, error) {
	page, err := Collect(ctx, s.Queries, "read videos", func(row *sql.Rows) (video.Video, error) { return scanVideo(row) },
		`SELECT `+columnsWithoutPlan+` FROM video WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return page, s.addResolutions(ctx, page)
}
