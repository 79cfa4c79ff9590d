package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Lease is the right to write to an upload, until it ends or is let go. Among
// many processes that share a PostgreSQL one has it at a time. It is a row and
// no lock of the database's own, which would take a connection for as long as a
// slow client sends. On SQLite there is one process, which gets all leases.
type Lease struct {
	Video   video.ID
	Token   string // tells this holding from all others
	Process string // whose leases are renewed together
}

// dbNow is the time in milliseconds by PostgreSQL's clock, at the moment of the
// statement: those of the processes may differ by more than a lease lasts.
const dbNow = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// TakeLease reports whether the lease is l's now. When it is somebody else's,
// that one learns that it is wanted.
func (s *Store) TakeLease(ctx context.Context, l Lease, life time.Duration) (mine bool, err error) {
	if s.pool == nil {
		return true, nil
	}
	err = s.InTx(ctx, func(tx *Tx) error {
		n, err := tx.affected(ctx, "take lease", `
			INSERT INTO upload_lease (video_id, token, process, wanted, ends_at) VALUES ($1, $2, $3, FALSE, `+dbNow+` + $4)
			ON CONFLICT (video_id) DO UPDATE
			   SET token = excluded.token, process = excluded.process, wanted = FALSE, ends_at = excluded.ends_at
			 WHERE upload_lease.ends_at <= `+dbNow,
			l.Video, l.Token, l.Process, life.Milliseconds())
		if mine = n > 0; err != nil || mine {
			return err
		}
		return tx.RequestLease(ctx, l.Video)
	})
	return mine && err == nil, err
}

// RequestLease tells whoever holds the lease of a video that somebody wants it.
func (t *Tx) RequestLease(ctx context.Context, id video.ID) error {
	if !t.postgres {
		return nil
	}
	_, err := t.affected(ctx, "want lease", `UPDATE upload_lease SET wanted = TRUE WHERE video_id = $1 AND NOT wanted`, id)
	return err
}

// RenewLeases lets all leases of a process that have not ended last for life from
// now on. It returns them, and which of them somebody else wants.
func (s *Store) RenewLeases(ctx context.Context, process string, life time.Duration) (wanted map[Lease]bool, err error) {
	err = s.InTx(ctx, func(tx *Tx) error {
		wanted = map[Lease]bool{}
		_, err := collect(ctx, tx.queries, "renew leases", func(row *sql.Rows) (none struct{}, err error) {
			l, want := Lease{Process: process}, false
			err = row.Scan(&l.Video, &l.Token, &want)
			wanted[l] = want
			return none, err
		}, `UPDATE upload_lease SET ends_at = `+dbNow+` + $1 WHERE process = $2 AND ends_at > `+dbNow+` RETURNING video_id, token, wanted`,
			life.Milliseconds(), process)
		return err
	})
	return wanted, err
}

// DropLease lets a lease go. One that was lost is left to its new holder.
func (s *Store) DropLease(ctx context.Context, l Lease) error {
	if s.pool == nil {
		return nil
	}
	return s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.affected(ctx, "drop lease", `DELETE FROM upload_lease WHERE video_id = $1 AND token = $2`, l.Video, l.Token)
		return err
	})
}

// RemoveExpiredLeases removes what dead processes left.
func (s *Store) RemoveExpiredLeases(ctx context.Context) error {
	if s.pool == nil {
		return nil
	}
	return s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.affected(ctx, "forget leases", `DELETE FROM upload_lease WHERE ends_at < `+dbNow)
		return err
	})
}

// UsesLeases reports whether leases have to be renewed at all.
func (s *Store) UsesLeases() bool { return s.pool != nil }
