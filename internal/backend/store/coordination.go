package store

import (
	"context"
	"time"
)

// Now returns the time. On PostgreSQL it is the server's, which all machines use.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if s.pool == nil {
		return time.Now(), nil
	}
	var now time.Time
	err := s.db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, Wrap("ask for the time", err)
}

// The time in milliseconds at the moment of a statement, by the database's clock: the clocks of the processes may
// differ by more than a lease lasts.
const (
	postgresNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`
	sqliteNow   = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
)

// NowSQL returns the expression for the time in milliseconds at the moment of a statement.
func (t *Tx) NowSQL() string {
	if t.postgres {
		return postgresNow
	}
	return sqliteNow
}

// AcquireRunOnce is a run-once lock for periodic jobs: of all processes that share
// the database, it reports true to one of them, and only if the job was last
// started at least every ago. On SQLite there is one process, so it always reports
// true.
func (s *Store) AcquireRunOnce(ctx context.Context, job string, every time.Duration, now time.Time) (acquired bool, err error) {
	if s.pool == nil {
		return true, nil
	}
	err = s.InTx(ctx, func(tx *Tx) error {
		// A second early counts as due: the process that ran the job last asks again
		// after exactly that time. A time far ahead was written before the clock was
		// turned back.
		due, wrong := now.Add(time.Second-every), now.Add(every)
		n, err := tx.Exec(ctx, "acquire run-once lock", `
			INSERT INTO periodic_job (name, begun_at) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET begun_at = $2 WHERE periodic_job.begun_at <= $3 OR periodic_job.begun_at > $4`,
			job, Millis(now), Millis(due), Millis(wrong))
		acquired = n > 0
		return err
	})
	return acquired, err
}

// Identity returns the id that distinguishes this database from all others. If it
// has none yet, it gets fresh.
func (s *Store) Identity(ctx context.Context, fresh string) (string, error) {
	var id string
	err := s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, "identify the database", `
			INSERT INTO database_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, fresh); err != nil {
			return err
		}
		return Wrap("identify the database", tx.db.QueryRowContext(ctx, `SELECT id FROM database_identity`).Scan(&id))
	})
	return id, err
}

// Place tells where a PostgreSQL database lies: by the identifier of the server, if that may be read, and the number of
// the database. A copy made by PostgreSQL has the identity of the original, but another place. It is "" on SQLite.
func (s *Store) Place(ctx context.Context) (string, error) {
	if s.pool == nil {
		return "", nil
	}
	var place string
	const number = `SELECT oid::text FROM pg_database WHERE datname = current_database()`
	err := s.pool.QueryRow(ctx, `SELECT system_identifier || '/' || (`+number+`) FROM pg_control_system()`).Scan(&place)
	if err != nil { // some providers keep it from their customers
		err = s.pool.QueryRow(ctx, number).Scan(&place)
	}
	return place, Wrap("locate the database", err)
}
