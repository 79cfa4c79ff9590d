package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// DeliveryState says what becomes of a delivery.
type DeliveryState string

const (
	DeliveryPending   DeliveryState = "pending" // it is tried when it is due
	DeliveryHeld      DeliveryState = "held"    // the same, for somebody who fetches
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"
)

// Delivery is one event for one webhook.
type Delivery struct {
	ID, Webhook, Event string
	Tenant             video.Tenant
	Type               video.EventType
	Video              video.ID // "" for a test
	State              DeliveryState
	Tries              int // since it was recorded or replayed
	Attempts           []DeliveryAttempt
	CreatedAt          time.Time
	NextAt             time.Time // zero: there is no other try
	Lease              string    // of the claim that is trying it
}

// DeliveryAttempt is what became of one try.
type DeliveryAttempt struct {
	At           time.Time `json:"at"`
	Status       int       `json:"status,omitempty"` // of the response; 0: there was none
	Error        string    `json:"error,omitempty"`
	Milliseconds int64     `json:"ms"`
}

// DeliveryNotFound is the answer for a delivery that does not exist.
func DeliveryNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "delivery_not_found", Msg: "There is no such delivery, or it is older than 30 days."}
}

const deliveryColumns = `id, webhook_id, event_id, tenant, type, video_id, state, tries, attempts, created_at, next_at, lease`

func scanDelivery(row *sql.Rows) (d Delivery, err error) {
	var attempts string
	var created, next sql.NullInt64
	var lease sql.NullString
	if err := row.Scan(&d.ID, &d.Webhook, &d.Event, &d.Tenant, &d.Type, &d.Video, &d.State, &d.Tries, &attempts, &created, &next, &lease); err != nil {
		return d, err
	}
	d.CreatedAt, d.NextAt, d.Lease = FromMillis(created), FromMillis(next), lease.String
	if err := json.Unmarshal([]byte(attempts), &d.Attempts); err != nil {
		return d, fmt.Errorf("attempts of delivery %s: %w", d.ID, err)
	}
	return d, nil
}

// Deliveries lists at most limit deliveries to a webhook, newest first, from after on;
// with a state, only those.
func (w Webhooks) Deliveries(ctx context.Context, webhook string, state DeliveryState, after video.Cursor, limit int) ([]Delivery, error) {
	where, args := `webhook_id = $1`, []any{webhook}
	if state != "" {
		args = append(args, state)
		where += fmt.Sprintf(` AND state = $%d`, len(args))
	}
	if after != (video.Cursor{}) {
		args = append(args, Millis(after.CreatedAt), after.ID)
		where += fmt.Sprintf(` AND (created_at, id) < ($%d, $%d)`, len(args)-1, len(args))
	}
	args = append(args, limit)
	return Collect(ctx, w.s.Queries, "list deliveries", scanDelivery,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE `+where+
			fmt.Sprintf(` ORDER BY created_at DESC, id DESC LIMIT $%d`, len(args)), args...)
}

// Delivery returns a delivery of a tenant.
func (w Webhooks) Delivery(ctx context.Context, tenant video.Tenant, id string) (Delivery, error) {
	found, err := Collect(ctx, w.s.Queries, "read delivery", scanDelivery,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE id = $1 AND tenant = $2`, id, tenant)
	if err == nil && len(found) == 0 {
		return Delivery{}, DeliveryNotFound()
	}
	if err != nil {
		return Delivery{}, err
	}
	return found[0], nil
}

// Send records an event for one webhook, whatever that has asked for. It reports false,
// and records nothing, if most deliveries to it are open already.
func (w Webhooks) Send(ctx context.Context, h Webhook, e Event, most int) (sent bool, err error) {
	err = w.s.InTx(ctx, func(tx *Tx) error {
		sent = false
		if h, err = tx.lockWebhook(ctx, h.Tenant, h.ID); err != nil {
			return err
		}
		if full, err := tx.hasOpen(ctx, h, most); err != nil || full {
			return err
		}
		if w.s.onEvents != nil {
			tx.OnCommit(w.s.onEvents)
		}
		sent = true
		return tx.insertEvent(ctx, e, []Webhook{h})
	})
	return sent && err == nil, err
}

// hasOpen reports whether that many deliveries to a webhook are not finished.
func (t *Tx) hasOpen(ctx context.Context, h Webhook, n int) (bool, error) {
	found, err := Collect(ctx, t.Queries, "find open deliveries", func(row *sql.Rows) (id string, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT $3`, h.ID, h.unfinishedState(), n)
	return len(found) == n, err
}

// Replay has a delivery tried again from the beginning. Its log stays.
func (w Webhooks) Replay(ctx context.Context, h Webhook, id string, now time.Time) error {
	return w.s.InTx(ctx, func(tx *Tx) error {
		if w.s.onEvents != nil {
			tx.OnCommit(w.s.onEvents)
		}
		n, err := tx.Exec(ctx, "replay delivery", `
			UPDATE webhook_delivery SET state = $1, tries = 0, next_at = $2, lease = NULL WHERE id = $3 AND webhook_id = $4`,
			h.unfinishedState(), Millis(now), id, h.ID)
		if err == nil && n == 0 {
			return DeliveryNotFound()
		}
		return err
	})
}

// Lane is the deliveries to one webhook that are pending.
type Lane struct {
	Webhook string
	Tenant  video.Tenant
	Head    string // the delivery that is due first; "": none is due yet
	Tries   int    // how often the head was tried
}

// NextDelivery returns when the next pending delivery is due; zero if there is none.
func (w Webhooks) NextDelivery(ctx context.Context) (time.Time, error) {
	return w.earliestTime(ctx, `SELECT next_at FROM webhook_delivery WHERE state = 'pending' AND next_at >= 0 ORDER BY next_at LIMIT 1`)
}

// OldestPending returns when the oldest pending delivery was recorded; zero if there is
// none.
func (w Webhooks) OldestPending(ctx context.Context) (time.Time, error) {
	return w.earliestTime(ctx, `SELECT created_at FROM webhook_delivery WHERE state = 'pending' AND created_at >= 0 ORDER BY created_at LIMIT 1`)
}

func (w Webhooks) earliestTime(ctx context.Context, query string) (time.Time, error) {
	found, err := Collect(ctx, w.s.Queries, "find a delivery", func(row *sql.Rows) (at sql.NullInt64, err error) {
		err = row.Scan(&at)
		return at, err
	}, query)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return FromMillis(found[0]), nil
}

// Lanes lists at most limit webhooks that have pending deliveries, in the order of their
// ids from after on. It jumps from webhook to webhook, so that one with a million of
// deliveries costs no more than another.
func (w Webhooks) Lanes(ctx context.Context, after string, now time.Time, limit int) ([]Lane, error) {
	return w.s.Queries.dueWebhooks(ctx, after, now, limit)
}

func (q Queries) dueWebhooks(ctx context.Context, after string, now time.Time, limit int) ([]Lane, error) {
	return Collect(ctx, q, "find due deliveries", func(row *sql.Rows) (l Lane, err error) {
		var tenant, head sql.NullString
		var tries sql.NullInt64
		err = row.Scan(&l.Webhook, &head, &tenant, &tries)
		l.Tenant, l.Head, l.Tries = video.Tenant(tenant.String), head.String, int(tries.Int64)
		return l, err
	}, `
		WITH RECURSIVE lane (webhook_id) AS (
			SELECT (SELECT webhook_id FROM webhook_delivery WHERE state = 'pending' AND webhook_id > $1 ORDER BY webhook_id LIMIT 1)
			UNION ALL
			SELECT (SELECT d.webhook_id FROM webhook_delivery AS d WHERE d.state = 'pending' AND d.webhook_id > lane.webhook_id ORDER BY d.webhook_id LIMIT 1)
			  FROM lane WHERE lane.webhook_id IS NOT NULL
		)
		SELECT chosen.webhook_id, d.id, d.tenant, d.tries
		  FROM (SELECT webhook_id, (SELECT f.id FROM webhook_delivery AS f
		                             WHERE f.state = 'pending' AND f.webhook_id = lane.webhook_id AND f.next_at <= $2
		                             ORDER BY f.next_at LIMIT 1) AS head
		          FROM lane WHERE webhook_id IS NOT NULL LIMIT $3) AS chosen
		  LEFT JOIN webhook_delivery AS d ON d.id = chosen.head`, after, Millis(now), limit)
}

// Claim leases those of the deliveries that are still due, until the given time. If
// their process dies, others find them due again then.
func (w Webhooks) Claim(ctx context.Context, ids []string, lease string, now, until time.Time) ([]Delivery, error) {
	return w.claim(ctx, claimDue(ids), lease, now, until)
}

// ClaimHeld leases at most limit deliveries that are held for somebody who fetches.
func (w Webhooks) ClaimHeld(ctx context.Context, webhook string, limit int, lease string, now, until time.Time) ([]Delivery, error) {
	return w.claim(ctx, claimHeld(webhook, limit), lease, now, until)
}

// condition says which deliveries are claimed. Its arguments are those from $4 on; $3 is
// the time.
type condition struct {
	where string
	args  []any
}

func claimDue(ids []string) condition {
	in, arg := IDList(4, ids)
	return condition{`state = 'pending' AND next_at <= $3 AND id IN ` + in, []any{arg}}
}

func claimHeld(webhook string, limit int) condition {
	return condition{`state = 'held' AND next_at <= $3 AND id IN (
		SELECT id FROM webhook_delivery WHERE webhook_id = $4 AND state = 'held' AND next_at <= $3 ORDER BY next_at LIMIT $5)`, []any{webhook, limit}}
}

func (w Webhooks) claim(ctx context.Context, which condition, lease string, now, until time.Time) (claimed []Delivery, err error) {
	err = w.s.InTx(ctx, func(tx *Tx) error {
		claimed, err = w.claimIn(ctx, tx, which, lease, now, until)
		return err
	})
	return claimed, err
}

func (Webhooks) claimIn(ctx context.Context, tx *Tx, which condition, lease string, now, until time.Time) ([]Delivery, error) {
	args := append([]any{lease, Millis(until), Millis(now)}, which.args...)
	return Collect(ctx, tx.Queries, "claim deliveries", scanDelivery,
		`UPDATE webhook_delivery SET lease = $1, next_at = $2 WHERE `+which.where+` RETURNING `+deliveryColumns, args...)
}

// maxAttempts is how many attempts the log of a delivery keeps. Replays add to it.
const maxAttempts = 100

// Conclusion is what becomes of a claimed delivery.
type Conclusion struct {
	Delivery Delivery // as it was claimed
	Attempt  DeliveryAttempt
	Released bool          // it was not tried; Attempt and Tries do not count
	State    DeliveryState // from now on
	NextAt   time.Time
	Tries    int
	Disable  string // why its webhook is disabled; "": it is not
}

// Conclude records what became of claimed deliveries. One whose lease was lost stays as
// its new holder has it.
func (w Webhooks) Conclude(ctx context.Context, all []Conclusion) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Conclusion) int { return strings.Compare(a.Delivery.ID, b.Delivery.ID) }) // in one order, so that none deadlock
	return w.s.InTx(ctx, func(tx *Tx) error {
		for _, c := range all {
			if err := tx.conclude(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Tx) conclude(ctx context.Context, c Conclusion) error {
	attempts := c.Delivery.Attempts
	if !c.Released {
		attempts = append(slices.Clone(attempts), c.Attempt)
		attempts = attempts[max(0, len(attempts)-maxAttempts):]
	}
	text, err := json.Marshal(attempts)
	if err != nil {
		return fmt.Errorf("store attempts of %s: %w", c.Delivery.ID, err)
	}
	n, err := t.Exec(ctx, "conclude delivery", `
		UPDATE webhook_delivery SET state = $1, tries = $2, attempts = $3, next_at = $4, lease = NULL
		 WHERE id = $5 AND lease = $6`, c.State, c.Tries, string(text), Millis(c.NextAt), c.Delivery.ID, c.Delivery.Lease)
	if err != nil || n == 0 || c.Disable == "" {
		return err
	}
	if _, err := t.Exec(ctx, "disable webhook", `
		UPDATE webhook SET enabled = FALSE, disabled_reason = $1 WHERE id = $2`, c.Disable, c.Delivery.Webhook); err != nil {
		return err
	}
	return t.endOpen(ctx, c.Delivery.Webhook, endedAtOnce)
}

// ReleaseLeases makes everything that is leased due. It is for the start of the only
// process of a database: whoever had a lease is gone.
func (w Webhooks) ReleaseLeases(ctx context.Context, now time.Time) error {
	if w.s.pool != nil {
		return nil // others may be at work; leases end by themselves
	}
	return w.s.InTx(ctx, func(tx *Tx) error { return tx.releaseLeases(ctx, now) })
}

func (t *Tx) releaseLeases(ctx context.Context, now time.Time) error {
	_, err := t.Exec(ctx, "release leases", `
		UPDATE webhook_delivery SET lease = NULL, next_at = $1 WHERE lease > ''`, Millis(now))
	return err
}

// RemoveOld deletes at most limit deliveries, and as many events, that were recorded
// before the given time. It reports whether there may be more.
func (w Webhooks) RemoveOld(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	err = w.s.InTx(ctx, func(tx *Tx) error {
		more, err = tx.removeOld(ctx, before, limit)
		return err
	})
	return more, err
}

func (t *Tx) removeOld(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	for _, table := range []string{"webhook_delivery", "webhook_event"} {
		n, err := t.Exec(ctx, "remove old events", `
			DELETE FROM `+table+` WHERE id IN (
			SELECT id FROM `+table+` WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, Millis(before), limit)
		if err != nil {
			return false, err
		}
		more = more || n == int64(limit)
	}
	return more, nil
}
