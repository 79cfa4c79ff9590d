package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Lease is the exclusive right to write to an upload until it expires or is
// dropped. It is a row rather than a lock of the database, because a lock would
// occupy a connection for as long as a slow client sends. SQLite has one process,
// which gets every lease.
type Lease struct {
	Video   video.ID
	Token   string // identifies this acquisition
	Process string // all leases of a process are renewed together
}

// Leases is the part of the store that upload leases need. Each method is a
// transaction of its own.
type Leases struct{ s *Store }

// Leases returns the upload leases of this store.
func (s *Store) Leases() Leases { return Leases{s} }

// Shared reports whether several processes share the database, so that leases are
// stored and have to be renewed.
func (l Leases) Shared() bool { return l.s.pool != nil }

// Take reports whether the caller now holds the lease. If somebody else holds it,
// the holder is asked to let it go.
func (l Leases) Take(ctx context.Context, lease Lease, ttl time.Duration) (mine bool, err error) {
	if !l.Shared() {
		return true, nil
	}
	err = l.s.InTx(ctx, func(tx *Tx) error {
		n, err := tx.Exec(ctx, "take lease", `
			INSERT INTO upload_lease (video_id, token, process, wanted, ends_at) VALUES ($1, $2, $3, FALSE, `+postgresNow+` + $4)
			ON CONFLICT (video_id) DO UPDATE
			   SET token = excluded.token, process = excluded.process, wanted = FALSE, ends_at = excluded.ends_at
			 WHERE upload_lease.ends_at <= `+postgresNow,
			lease.Video, lease.Token, lease.Process, ttl.Milliseconds())
		if mine = n > 0; err != nil || mine {
			return err
		}
		return tx.RequestLease(ctx, lease.Video)
	})
	return mine && err == nil, err
}

// RequestLease asks the holder of a video's lease to let it go.
func (t *Tx) RequestLease(ctx context.Context, id video.ID) error {
	if !t.postgres {
		return nil
	}
	_, err := t.Exec(ctx, "request lease", `UPDATE upload_lease SET wanted = TRUE WHERE video_id = $1 AND NOT wanted`, id)
	return err
}

// HoldLease reports whether a lease was not given to anybody else, and keeps it so until the transaction ends.
func (t *Tx) HoldLease(ctx context.Context, lease Lease) (bool, error) {
	if !t.postgres {
		return true, nil
	}
	n, err := t.Exec(ctx, "hold lease", `UPDATE upload_lease SET token = token WHERE video_id = $1 AND token = $2`, lease.Video, lease.Token)
	return n > 0, err
}

// Renew extends every lease of a process that has not expired, to ttl from now.
// It returns them, with true for those that somebody else has requested.
func (l Leases) Renew(ctx context.Context, process string, ttl time.Duration) (requested map[Lease]bool, err error) {
	err = l.s.InTx(ctx, func(tx *Tx) error {
		requested = map[Lease]bool{}
		_, err := Collect(ctx, tx.Queries, "renew leases", func(row *sql.Rows) (none struct{}, err error) {
			lease, wanted := Lease{Process: process}, false
			err = row.Scan(&lease.Video, &lease.Token, &wanted)
			requested[lease] = wanted
			return none, err
		}, `UPDATE upload_lease SET ends_at = `+postgresNow+` + $1 WHERE process = $2 AND ends_at > `+postgresNow+` RETURNING video_id, token, wanted`,
			ttl.Milliseconds(), process)
		return err
	})
	return requested, err
}

// Drop releases a lease. If it was lost, its new holder keeps it.
func (l Leases) Drop(ctx context.Context, lease Lease) error {
	if !l.Shared() {
		return nil
	}
	return l.s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "drop lease", `DELETE FROM upload_lease WHERE video_id = $1 AND token = $2`, lease.Video, lease.Token)
		return err
	})
}

// RemoveExpired deletes leases whose processes died without dropping them.
func (l Leases) RemoveExpired(ctx context.Context) error {
	if !l.Shared() {
		return nil
	}
	return l.s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "remove expired leases", `DELETE FROM upload_lease WHERE ends_at < `+postgresNow)
		return err
	})
}
