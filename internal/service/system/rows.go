package system

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
)

// Stored is what an area of the storage held when it was last counted. Counting means listing every object, so
// the sweep does it, which lists them anyway, and everybody else reads its row.
type Stored struct {
	Area           string
	Objects, Bytes int64
	CountedAt      time.Time
}

// RecordStored replaces the counts of an area.
func RecordStored(ctx context.Context, s *store.Store, c Stored) error {
	return s.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "record stored bytes", `
			INSERT INTO storage_usage (area, objects, bytes, counted_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (area) DO UPDATE
			   SET objects = excluded.objects, bytes = excluded.bytes, counted_at = excluded.counted_at`,
			c.Area, c.Objects, c.Bytes, store.Millis(c.CountedAt))
		return err
	})
}

// CountsOfAreas returns the counts of all areas that were ever counted, by name.
func CountsOfAreas(ctx context.Context, s *store.Store) ([]Stored, error) {
	return store.Collect(ctx, s.Queries, "read stored bytes", func(row *sql.Rows) (c Stored, err error) {
		var counted sql.NullInt64
		err = row.Scan(&c.Area, &c.Objects, &c.Bytes, &counted)
		c.CountedAt = store.FromMillis(counted)
		return c, err
	}, `SELECT area, objects, bytes, counted_at FROM storage_usage ORDER BY area`)
}

// backupJob is the row of the table periodic_job that says when the newest complete backup began.
const backupJob = "backup"

// RecordBackup records that a backup which began at this time is complete.
func RecordBackup(ctx context.Context, s *store.Store, began time.Time) error {
	return s.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "note backup", `
			INSERT INTO periodic_job (name, begun_at) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET begun_at = excluded.begun_at WHERE periodic_job.begun_at < excluded.begun_at`, backupJob, store.Millis(began))
		return err
	})
}

// NewestBackup returns when the newest complete backup began, or zero before the first one.
func NewestBackup(ctx context.Context, s *store.Store) (time.Time, error) {
	var began sql.NullInt64
	err := s.QueryRow(ctx, `SELECT begun_at FROM periodic_job WHERE name = $1`, backupJob).Scan(&began)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return store.FromMillis(began), store.Wrap("find the last backup", err)
}
