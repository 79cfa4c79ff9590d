package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Imports is the part of the store that knows which files are to be fetched. Who
// fetches one has claimed its row until a time, and renews the claim.
type Imports struct{ s *Store }

// ImportsOf returns the imports of a store.
func ImportsOf(s *Store) Imports { return Imports{s} }

// Import is a file that Spool fetches itself.
type Import struct {
	Video  video.ID
	Tenant video.Tenant
	URL    string
	Lease  string // of the claim

	StartedAt time.Time // of the first try
	TroubleAt time.Time // when the tries began that bring nothing; zero: the last one brought something
	Tries     int       // of those
	Peak      int64     // the most bytes that any try had

	// ETag and Modified say which version of the file the stored bytes are of.
	ETag, Modified string
}

// ImportForever is until when a video waits for a file that is being fetched: what
// ends the wait is the end of the import.
var ImportForever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

const importColumns = `video_id, tenant, url, lease, started_at, trouble_at, tries, peak, etag, modified`

func scanImport(row *sql.Rows) (i Import, err error) {
	var lease sql.NullString
	var started, trouble sql.NullInt64
	err = row.Scan(&i.Video, &i.Tenant, &i.URL, &lease, &started, &trouble, &i.Tries, &i.Peak, &i.ETag, &i.Modified)
	i.Lease, i.StartedAt, i.TroubleAt = lease.String, FromMillis(started), FromMillis(trouble)
	return i, err
}

// ImportsTx changes imports together with their videos. The video comes first, as in a deletion: with
// the other order, two transactions could wait for each other.
type ImportsTx struct{ tx *Tx }

// ImportsIn returns the imports as a transaction changes them.
func ImportsIn(t *Tx) ImportsTx { return ImportsTx{t} }

// Insert has the file of a new video fetched from an address, from now on.
func (i ImportsTx) Insert(ctx context.Context, v video.Video, url string, now time.Time) error {
	_, err := i.tx.Exec(ctx, "insert import", `
		INSERT INTO video_import (video_id, tenant, url, next_at) VALUES ($1, $2, $3, $4)`, v.ID, v.Tenant, url, Millis(now))
	return err
}

// ImportLane is the imports of one tenant that are not finished.
type ImportLane struct {
	Tenant video.Tenant
	Head   video.ID // the one that is due first; "": none is due yet
}

// Next returns when the next import is due, or zero if no import waits.
func (i Imports) Next(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := i.s.Queries.db.QueryRowContext(ctx, `SELECT next_at FROM video_import WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1`).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return FromMillis(at), Wrap("find an import", err)
}

// Lanes lists at most limit tenants that have unfinished imports, by name from after
// on. It jumps from tenant to tenant, so that one with a million costs no more than
// another.
func (i Imports) Lanes(ctx context.Context, after video.Tenant, now time.Time, limit int) ([]ImportLane, error) {
	return Collect(ctx, i.s.Queries, "find due imports", func(row *sql.Rows) (l ImportLane, err error) {
		var head sql.NullString
		err = row.Scan(&l.Tenant, &head)
		l.Head = video.ID(head.String)
		return l, err
	}, `
		WITH RECURSIVE lane (tenant) AS (
			SELECT (SELECT tenant FROM video_import WHERE next_at IS NOT NULL AND tenant > $1 ORDER BY tenant LIMIT 1)
			UNION ALL
			SELECT (SELECT i.tenant FROM video_import AS i WHERE i.next_at IS NOT NULL AND i.tenant > lane.tenant ORDER BY i.tenant LIMIT 1)
			  FROM lane WHERE lane.tenant IS NOT NULL
		)
		SELECT tenant, (SELECT i.video_id FROM video_import AS i
		                 WHERE i.tenant = lane.tenant AND i.next_at <= $2 ORDER BY i.next_at LIMIT 1)
		  FROM lane WHERE tenant IS NOT NULL LIMIT $3`, after, Millis(now), limit)
}

// Claim leases an import until the given time, if it is still due. If the process
// dies, others find it due again then.
func (i Imports) Claim(ctx context.Context, id video.ID, lease string, now, until time.Time) (claimed Import, ok bool, err error) {
	err = i.s.InTx(ctx, func(tx *Tx) error {
		claimed, ok, err = tx.claimImport(ctx, id, lease, now, until)
		return err
	})
	return claimed, ok && err == nil, err
}

func (t *Tx) claimImport(ctx context.Context, id video.ID, lease string, now, until time.Time) (Import, bool, error) {
	all, err := Collect(ctx, t.Queries, "claim import", scanImport, `
		UPDATE video_import SET lease = $1, next_at = $2, started_at = COALESCE(started_at, $3)
		 WHERE video_id = $4 AND next_at <= $3 RETURNING `+importColumns, lease, Millis(until), Millis(now), id)
	if err != nil || len(all) == 0 {
		return Import{}, false, err
	}
	return all[0], true, nil
}

// Renew extends a claim and stores how much was fetched, from 0 to 1. It reports
// false if the claim was lost: the video was deleted, or somebody else has it.
func (i Imports) Renew(ctx context.Context, claimed Import, until time.Time, progress float64) (mine bool, err error) {
	err = i.s.InTx(ctx, func(tx *Tx) error {
		mine, err = tx.renewImport(ctx, claimed, until, progress)
		return err
	})
	return mine && err == nil, err
}

// millionths is how fine progress is stored.
const millionths = 1_000_000

func (t *Tx) renewImport(ctx context.Context, claimed Import, until time.Time, progress float64) (bool, error) {
	if n, err := t.lock(ctx, claimed.Video); err != nil || n == 0 {
		return false, err
	}
	n, err := t.Exec(ctx, "renew import", `UPDATE video_import SET next_at = $1 WHERE video_id = $2 AND lease = $3`,
		Millis(until), claimed.Video, claimed.Lease)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.storeImportProgress(ctx, claimed.Video, progress)
}

// storeImportProgress stores how much of a file has arrived, unless that is not known: below 0.
func (t *Tx) storeImportProgress(ctx context.Context, id video.ID, progress float64) error {
	if progress < 0 {
		return nil
	}
	_, err := t.Exec(ctx, "store progress", `UPDATE video SET import_progress = $1 WHERE id = $2 AND status = 'pending_upload'`,
		int64(min(progress, 1)*millionths), id)
	return err
}

// SetVersion stores which version of the file is being stored from now on. It reports
// false if the claim was lost.
func (i Imports) SetVersion(ctx context.Context, claimed Import) (mine bool, err error) {
	err = i.s.InTx(ctx, func(tx *Tx) error {
		mine, err = tx.setImportVersion(ctx, claimed)
		return err
	})
	return mine && err == nil, err
}

func (t *Tx) setImportVersion(ctx context.Context, claimed Import) (bool, error) {
	n, err := t.Exec(ctx, "store version of import", `UPDATE video_import SET etag = $1, modified = $2 WHERE video_id = $3 AND lease = $4`,
		claimed.ETag, claimed.Modified, claimed.Video, claimed.Lease)
	return n > 0, err
}

// Postpone ends a claim, with what its tries have shown. The import is due again at
// a time. A claim that was lost stays as its new holder has it.
func (i Imports) Postpone(ctx context.Context, claimed Import, next time.Time, progress float64) error {
	return i.s.InTx(ctx, func(tx *Tx) error { return tx.postponeImport(ctx, claimed, next, progress) })
}

func (t *Tx) postponeImport(ctx context.Context, claimed Import, next time.Time, progress float64) error {
	if _, err := t.lock(ctx, claimed.Video); err != nil {
		return err
	}
	n, err := t.Exec(ctx, "postpone import", `
		UPDATE video_import SET next_at = $1, lease = NULL, trouble_at = $2, tries = $3, peak = $4
		 WHERE video_id = $5 AND lease = $6`,
		Millis(next), Millis(claimed.TroubleAt), claimed.Tries, claimed.Peak, claimed.Video, claimed.Lease)
	if err != nil || n == 0 {
		return err
	}
	return t.storeImportProgress(ctx, claimed.Video, progress)
}

// Fail fails a video because its file could not be fetched, or is none. It
// reports false, and changes nothing, if the claim was lost.
func (i ImportsTx) Fail(ctx context.Context, claimed Import, f *video.Failure, now time.Time) (bool, error) {
	if n, err := i.tx.lock(ctx, claimed.Video); err != nil || n == 0 {
		return false, err
	}
	n, err := i.tx.Exec(ctx, "fail import", `
		UPDATE video_import SET next_at = NULL, lease = NULL, started_at = NULL, trouble_at = NULL, tries = 0, peak = 0
		 WHERE video_id = $1 AND lease = $2`, claimed.Video, claimed.Lease)
	if err != nil || n == 0 {
		return false, err
	}
	refused, err := i.tx.RefuseUpload(ctx, claimed.Video, f)
	if err != nil || !refused {
		return refused, err
	}
	_, err = i.tx.Exec(ctx, "fail import", `UPDATE video SET upload_expires_at = $1 WHERE id = $2`, Millis(now), claimed.Video)
	return true, err
}

// Finish removes the import of a video that was accepted.
func (i ImportsTx) Finish(ctx context.Context, id video.ID) error {
	if _, err := i.tx.Exec(ctx, "finish import", `DELETE FROM video_import WHERE video_id = $1`, id); err != nil {
		return err
	}
	_, err := i.tx.Exec(ctx, "finish import", `UPDATE video SET import_progress = $1 WHERE id = $2`, millionths, id)
	return err
}

// Restart has a file that could not be fetched tried again. It reports false,
// and changes nothing, if the import has not failed.
func (i ImportsTx) Restart(ctx context.Context, id video.ID, now time.Time) (bool, error) {
	n, err := i.tx.change(ctx, "restart import", id, `
		UPDATE video SET status = 'pending_upload', failure_code = NULL, failure_message = NULL, upload_expires_at = $1, import_progress = 0
		 WHERE id = $2 AND completed_at IS NULL AND deleted_at IS NULL
		   AND EXISTS (SELECT 1 FROM video_import WHERE video_id = $2 AND next_at IS NULL)
		   AND status IN `+statusList(video.Before(video.PendingUpload)),
		Millis(ImportForever), id)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err = i.tx.Exec(ctx, "restart import", `UPDATE video_import SET next_at = $1 WHERE video_id = $2`, Millis(now), id); err != nil {
		return false, err
	}
	_, err = i.tx.Exec(ctx, "restart import", `
		UPDATE resolution SET status = 'pending_upload', failure_code = NULL, failure_message = NULL
		 WHERE video_id = $1 AND status IN `+statusList(video.Before(video.PendingUpload)), id)
	return true, err
}

// ReleaseClaims makes everything that is claimed due. It is for the start of the only
// process of a database: a claim then belongs to a process that has ended.
func (i Imports) ReleaseClaims(ctx context.Context, now time.Time) error {
	if i.s.pool != nil {
		return nil // others may be at work; claims end by themselves
	}
	return i.s.InTx(ctx, func(tx *Tx) error { return tx.releaseImports(ctx, now) })
}

func (t *Tx) releaseImports(ctx context.Context, now time.Time) error {
	_, err := t.Exec(ctx, "release imports", `UPDATE video_import SET lease = NULL, next_at = $1 WHERE lease > ''`, Millis(now))
	return err
}
