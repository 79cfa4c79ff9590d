package store

import (
	"context"
	"time"
)

// Now returns the time. On PostgreSQL it is the server's, which all machines
// that share it go by.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if s.pool == nil {
		return time.Now(), nil
	}
	var now time.Time
	err := s.db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, wrap("ask for the time", err)
}

// AcquireRunOnce reports true to one of many who ask whether to do a chore now, if it
// was last begun long enough ago. On SQLite there is one process, whose turn it
// always is.
func (s *Store) AcquireRunOnce(ctx context.Context, chore string, every time.Duration, now time.Time) (mine bool, err error) {
	if s.pool == nil {
		return true, nil
	}
	err = s.InTx(ctx, func(tx *Tx) error {
		// A little early counts as due: the one who did it last asks again after
		// exactly that time. A time far ahead is that of a clock that was turned
		// back since.
		due, wrong := now.Add(time.Second-every), now.Add(every)
		n, err := tx.affected(ctx, "take a turn", `
			INSERT INTO chore (name, begun_at) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET begun_at = $2 WHERE chore.begun_at <= $3 OR chore.begun_at > $4`,
			chore, millis(now), millis(due), millis(wrong))
		mine = n > 0
		return err
	})
	return mine, err
}

// Identity returns what tells this database from all others. It is fresh if the
// database has none yet.
func (s *Store) Identity(ctx context.Context, fresh string) (string, error) {
	var id string
	err := s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.affected(ctx, "name the database", `
			INSERT INTO identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, fresh); err != nil {
			return err
		}
		return wrap("name the database", tx.db.QueryRowContext(ctx, `SELECT id FROM identity`).Scan(&id))
	})
	return id, err
}
