package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Purge is something that a CDN must forget.
type Purge struct {
	ID        string
	Video     video.ID
	Reason    string
	Files     []string // names of files of the video
	Tries     int      // with the present one
	CreatedAt time.Time
	Lease     string // of the claim that is trying it
}

// InsertPurge records what a CDN must forget, in the transaction in which it is deleted.
func InsertPurge(ctx context.Context, t *Tx, p Purge) error {
	files, err := json.Marshal(p.Files)
	if err != nil {
		return fmt.Errorf("write the files of a purge: %w", err)
	}
	_, err = t.Exec(ctx, "record purge", `
		INSERT INTO cdn_purge (id, video_id, reason, files, created_at, next_at) VALUES ($1, $2, $3, $4, $5, $5)`,
		p.ID, p.Video, p.Reason, string(files), Millis(p.CreatedAt))
	return err
}

// Purges are what a CDN is still to be told.
type Purges struct{ s *Store }

// PurgesOf returns the purges in a store.
func PurgesOf(s *Store) Purges { return Purges{s} }

// Claim leases at most limit purges that are due, until the given time. Each is claimed once: a claim
// that another process made meanwhile has moved its time.
func (p Purges) Claim(ctx context.Context, limit int, lease string, now, until time.Time) (claimed []Purge, err error) {
	err = p.s.InTx(ctx, func(tx *Tx) error {
		claimed, err = tx.claimPurges(ctx, limit, lease, now, until)
		return err
	})
	return claimed, err
}

func (t *Tx) claimPurges(ctx context.Context, limit int, lease string, now, until time.Time) ([]Purge, error) {
	if _, err := t.Exec(ctx, "claim purges", `
		UPDATE cdn_purge SET lease = $1, next_at = $2, tries = tries + 1
		 WHERE next_at <= $3 AND id IN (SELECT id FROM cdn_purge WHERE next_at <= $3 ORDER BY next_at LIMIT $4)`,
		lease, Millis(until), Millis(now), limit); err != nil {
		return nil, err
	}
	return Collect(ctx, t.Queries, "read claimed purges", scanPurge, `
		SELECT id, video_id, reason, files, tries, created_at, lease FROM cdn_purge WHERE lease = $1 AND lease > ''`, lease)
}

func scanPurge(row *sql.Rows) (p Purge, err error) {
	var files string
	var created sql.NullInt64
	if err := row.Scan(&p.ID, &p.Video, &p.Reason, &files, &p.Tries, &created, &p.Lease); err != nil {
		return p, err
	}
	p.CreatedAt = FromMillis(created)
	if err := json.Unmarshal([]byte(files), &p.Files); err != nil {
		return p, fmt.Errorf("files of purge %s: %w", p.ID, err)
	}
	return p, nil
}

// Done removes a purge that was claimed.
func (p Purges) Done(ctx context.Context, done Purge) error {
	return p.s.InTx(ctx, func(tx *Tx) error { return tx.removePurge(ctx, done) })
}

func (t *Tx) removePurge(ctx context.Context, done Purge) error {
	_, err := t.Exec(ctx, "remove purge", `DELETE FROM cdn_purge WHERE id = $1 AND lease = $2`, done.ID, done.Lease)
	return err
}

// Again gives a purge that was claimed back, to be tried at a time. With counted false, the present
// try does not count.
func (p Purges) Again(ctx context.Context, again Purge, at time.Time, counted bool) error {
	if !counted {
		again.Tries--
	}
	return p.s.InTx(ctx, func(tx *Tx) error { return tx.returnPurge(ctx, again, at) })
}

func (t *Tx) returnPurge(ctx context.Context, again Purge, at time.Time) error {
	_, err := t.Exec(ctx, "give back purge", `
		UPDATE cdn_purge SET lease = '', next_at = $1, tries = $2 WHERE id = $3 AND lease = $4`, Millis(at), again.Tries, again.ID, again.Lease)
	return err
}

// ReleaseLeases makes everything that is leased due. It is for the start of the only process of a
// database: whoever had a lease is gone.
func (p Purges) ReleaseLeases(ctx context.Context, now time.Time) error {
	if p.s.pool != nil {
		return nil // others may be at work; leases end by themselves
	}
	return p.s.InTx(ctx, func(tx *Tx) error { return tx.releasePurges(ctx, now) })
}

func (t *Tx) releasePurges(ctx context.Context, now time.Time) error {
	_, err := t.Exec(ctx, "release leases of purges", `UPDATE cdn_purge SET lease = '', next_at = $1 WHERE lease > ''`, Millis(now))
	return err
}
