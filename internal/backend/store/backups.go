package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// BackupHolds are the holds that running backups have on the objects of videos. While there is one, the
// janitor removes nothing of a video that exists: the snapshot of that backup may need it. A hold expires, so
// that a killed backup delays nothing for long.
type BackupHolds struct{ s *Store }

// BackupHoldsOf returns the holds of a store.
func BackupHoldsOf(s *Store) BackupHolds { return BackupHolds{s} }

// sqliteNow is dbNow for SQLite.
const sqliteNow = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

func (t *Tx) nowSQL() string {
	if t.postgres {
		return dbNow
	}
	return sqliteNow
}

// Take takes a hold.
func (h BackupHolds) Take(ctx context.Context, id string, ttl time.Duration) error {
	return h.s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, "remove dead holds", `DELETE FROM backup_hold WHERE ends_at <= `+tx.nowSQL()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "hold deletions", `
			INSERT INTO backup_hold (id, ends_at) VALUES ($1, `+tx.nowSQL()+` + $2)`, id, ttl.Milliseconds())
		return err
	})
}

// Renew prolongs a hold. It reports false if the hold has ended: what it kept may be gone, and nothing
// brings that back.
func (h BackupHolds) Renew(ctx context.Context, id string, ttl time.Duration) (bool, error) {
	var n int64
	err := h.s.InTx(ctx, func(tx *Tx) (err error) {
		n, err = tx.Exec(ctx, "hold deletions", `
			UPDATE backup_hold SET ends_at = `+tx.nowSQL()+` + $2 WHERE id = $1 AND ends_at > `+tx.nowSQL(), id, ttl.Milliseconds())
		return err
	})
	return n > 0, err
}

// Release ends a hold.
func (h BackupHolds) Release(ctx context.Context, id string) error {
	return h.s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "release deletions", `DELETE FROM backup_hold WHERE id = $1`, id)
		return err
	})
}

// lastBackup is the row of the table periodic_job that says when the newest complete backup began.
const lastBackup = "backup"

// RecordBackup records that a backup which began at this time is complete.
func RecordBackup(ctx context.Context, s *Store, began time.Time) error {
	return s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "note backup", `
			INSERT INTO periodic_job (name, begun_at) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET begun_at = excluded.begun_at WHERE periodic_job.begun_at < excluded.begun_at`, lastBackup, Millis(began))
		return err
	})
}

// LastBackup returns when the newest complete backup began, or zero before the first one.
func LastBackup(ctx context.Context, s *Store) (time.Time, error) {
	var began sql.NullInt64
	err := s.db.QueryRowContext(ctx, `SELECT begun_at FROM periodic_job WHERE name = $1`, lastBackup).Scan(&began)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return FromMillis(began), Wrap("find the last backup", err)
}

// BackupRuns reports whether a backup runs. It is asked just before objects of a video are removed, with the
// video locked: a backup that begins after the answer sees the video as it is now.
func BackupRuns(ctx context.Context, tx *Tx) (bool, error) {
	var n int
	err := tx.db.QueryRowContext(ctx, `SELECT count(*) FROM backup_hold WHERE ends_at > `+tx.nowSQL()).Scan(&n)
	return n > 0, Wrap("look for backups", err)
}
