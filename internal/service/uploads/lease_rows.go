package uploads

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// leaseRow is a lease in the database. It is a row rather than a lock, because a lock would occupy a
// connection for as long as a slow client sends.
type leaseRow struct {
	video   video.ID
	token   string // identifies this acquisition
	process string // all leases of a process are renewed together
}

// storedLeases are the leases in a database. Each method is a transaction of its own. SQLite has one process,
// which gets every lease.
type storedLeases struct{ store *store.Store }

// shared reports whether several processes share the database, so that leases are stored and have to be renewed.
func (s storedLeases) shared() bool { return !s.store.SingleWriter() }

// take reports whether the caller now holds the lease. If somebody else holds it, the holder is asked to let it go.
func (s storedLeases) take(ctx context.Context, l leaseRow, ttl time.Duration) (mine bool, err error) {
	if !s.shared() {
		return true, nil
	}
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, "take lease", `
			INSERT INTO upload_lease (video_id, token, process, wanted, ends_at) VALUES ($1, $2, $3, FALSE, `+tx.NowSQL()+` + $4)
			ON CONFLICT (video_id) DO UPDATE
			   SET token = excluded.token, process = excluded.process, wanted = FALSE, ends_at = excluded.ends_at
			 WHERE upload_lease.ends_at <= `+tx.NowSQL(),
			l.video, l.token, l.process, ttl.Milliseconds())
		if mine = n > 0; err != nil || mine {
			return err
		}
		return requestLease(ctx, tx, l.video)
	})
	return mine && err == nil, err
}

// requestLease asks the holder of an upload's lease to let it go.
func requestLease(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, err := tx.Exec(ctx, "request lease", `UPDATE upload_lease SET wanted = TRUE WHERE video_id = $1 AND NOT wanted`, id)
	return err
}

// hold reports whether a lease was not given to anybody else, and keeps it so until tx ends.
func (s storedLeases) hold(ctx context.Context, tx *store.Tx, l leaseRow) (bool, error) {
	if !s.shared() {
		return true, nil
	}
	n, err := tx.Exec(ctx, "hold lease", `UPDATE upload_lease SET token = token WHERE video_id = $1 AND token = $2`, l.video, l.token)
	return n > 0, err
}

// renew extends every lease of a process that has not expired, to ttl from now. It returns them, with true for
// those that somebody else has requested.
func (s storedLeases) renew(ctx context.Context, process string, ttl time.Duration) (requested map[leaseRow]bool, err error) {
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		requested = map[leaseRow]bool{}
		return store.Each(ctx, tx.Queries, "renew leases", func(row *sql.Rows) (bool, error) {
			l, wanted := leaseRow{process: process}, false
			err := row.Scan(&l.video, &l.token, &wanted)
			requested[l] = wanted
			return true, err
		}, `UPDATE upload_lease SET ends_at = `+tx.NowSQL()+` + $1 WHERE process = $2 AND ends_at > `+tx.NowSQL()+` RETURNING video_id, token, wanted`,
			ttl.Milliseconds(), process)
	})
	return requested, err
}

// drop releases a lease. If it was lost, its new holder keeps it.
func (s storedLeases) drop(ctx context.Context, l leaseRow) error {
	if !s.shared() {
		return nil
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "drop lease", `DELETE FROM upload_lease WHERE video_id = $1 AND token = $2`, l.video, l.token)
		return err
	})
}

// RemoveExpiredLeases removes the leases of processes that died without dropping them.
func RemoveExpiredLeases(ctx context.Context, s *store.Store) error {
	return s.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "remove expired leases", `DELETE FROM upload_lease WHERE ends_at < `+tx.NowSQL())
		return err
	})
}
