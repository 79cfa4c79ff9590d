package store

import (
	"context"
	"database/sql"
	"time"
)

// Stored is what an area of the storage holds. Counting means listing every object,
// so the sweep does it, which lists them anyway, and everybody else reads its row.
type Stored struct {
	Area           string
	Objects, Bytes int64
	CountedAt      time.Time
}

// StoredCounts is the part of the store that knows them.
type StoredCounts struct{ s *Store }

// StoredOf returns the counts of a store.
func StoredOf(s *Store) StoredCounts { return StoredCounts{s} }

// Record replaces the counts of an area.
func (s StoredCounts) Record(ctx context.Context, c Stored) error {
	return s.s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "record stored bytes", `
			INSERT INTO storage_usage (area, objects, bytes, counted_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (area) DO UPDATE
			   SET objects = excluded.objects, bytes = excluded.bytes, counted_at = excluded.counted_at`,
			c.Area, c.Objects, c.Bytes, Millis(c.CountedAt))
		return err
	})
}

// All returns the counts of all areas that were ever counted, by name.
func (s StoredCounts) All(ctx context.Context) ([]Stored, error) {
	return Collect(ctx, s.s.Queries, "read stored bytes", func(row *sql.Rows) (c Stored, err error) {
		var counted sql.NullInt64
		err = row.Scan(&c.Area, &c.Objects, &c.Bytes, &counted)
		c.CountedAt = FromMillis(counted)
		return c, err
	}, `SELECT area, objects, bytes, counted_at FROM storage_usage ORDER BY area`)
}
