package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// DeliveryState says what becomes of a delivery.
type DeliveryState string

const (
	DeliveryPending   DeliveryState = "pending" // it is tried when it is due
	DeliveryHeld      DeliveryState = "held"    // it waits until the tenant fetches it
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
	Lease              string    // if it was fetched: of that fetch; if it is sent: its last replay
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

// Send records an event for one webhook, whatever events the webhook has asked for. It reports false,
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

// Replay has a delivery tried again from the beginning. Its log stays. replay is a new id, by which tries from
// before it are told from those after it.
func (w Webhooks) Replay(ctx context.Context, h Webhook, id, replay string, now time.Time) error {
	return w.s.InTx(ctx, func(tx *Tx) error {
		lease := sql.NullString{String: replay, Valid: !h.Pull}
		found, err := Collect(ctx, tx.Queries, "replay delivery", scanDelivery, `
			UPDATE webhook_delivery SET state = $1, tries = 0, next_at = $2, lease = $3 WHERE id = $4 AND webhook_id = $5
			RETURNING `+deliveryColumns, h.unfinishedState(), Millis(now), lease, id, h.ID)
		if err == nil && len(found) == 0 {
			return DeliveryNotFound()
		}
		if err != nil {
			return err
		}
		return tx.send(ctx, found)
	})
}

// OnDeliveries has f called in each transaction that has deliveries sent, with these.
func (w Webhooks) OnDeliveries(f func(context.Context, *Tx, []Delivery) error) { w.s.onDeliveries = f }

// send has deliveries sent, except for the held ones.
func (t *Tx) send(ctx context.Context, all []Delivery) error {
	all = slices.DeleteFunc(all, func(d Delivery) bool { return d.State != DeliveryPending })
	if len(all) == 0 || t.onDeliveries == nil {
		return nil
	}
	return t.onDeliveries(ctx, t, all)
}

// Pending returns a delivery that is to be sent, or none if it has ended, or was replayed since.
func (w Webhooks) Pending(ctx context.Context, id, replay string) ([]Delivery, error) {
	return Collect(ctx, w.s.Queries, "read delivery", scanDelivery, `SELECT `+deliveryColumns+`
		FROM webhook_delivery WHERE id = $1 AND coalesce(lease, '') = $2 AND state = 'pending'`, id, replay)
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

// ClaimHeld leases at most limit deliveries that are held to be fetched.
func (w Webhooks) ClaimHeld(ctx context.Context, webhook string, limit int, lease string, now, until time.Time) (claimed []Delivery, err error) {
	err = w.s.InTx(ctx, func(tx *Tx) error {
		claimed, err = tx.claimHeld(ctx, webhook, limit, lease, now, until)
		return err
	})
	return claimed, err
}

func (t *Tx) claimHeld(ctx context.Context, webhook string, limit int, lease string, now, until time.Time) ([]Delivery, error) {
	return Collect(ctx, t.Queries, "claim deliveries", scanDelivery, `
		UPDATE webhook_delivery SET lease = $1, next_at = $2 WHERE state = 'held' AND next_at <= $3 AND id IN (
		SELECT id FROM webhook_delivery WHERE webhook_id = $4 AND state = 'held' AND next_at <= $3 ORDER BY next_at LIMIT $5)
		RETURNING `+deliveryColumns, lease, Millis(until), Millis(now), webhook, limit)
}

// maxAttempts is how many attempts the log of a delivery keeps. Replays add to it.
const maxAttempts = 100

// Conclusion is what becomes of a delivery after a try.
type Conclusion struct {
	Delivery Delivery // as it was before
	Attempt  DeliveryAttempt
	State    DeliveryState // from now on
	NextAt   time.Time
	Tries    int
	Disable  string // why its webhook is disabled; "": it is not
}

// Conclude records a try. A delivery that has ended, or was replayed or fetched again, stays as it is. One
// that is sent keeps the id of its replay.
func (t *Tx) Conclude(ctx context.Context, c Conclusion) error {
	attempts := append(slices.Clone(c.Delivery.Attempts), c.Attempt)
	text, err := json.Marshal(attempts[max(0, len(attempts)-maxAttempts):])
	if err != nil {
		return fmt.Errorf("store attempts of %s: %w", c.Delivery.ID, err)
	}
	n, err := t.Exec(ctx, "conclude delivery", `
		UPDATE webhook_delivery SET state = $1, tries = $2, attempts = $3, next_at = $4, lease = CASE state WHEN 'held' THEN NULL ELSE lease END
		 WHERE id = $5 AND state = $6 AND coalesce(lease, '') = $7`,
		c.State, c.Tries, string(text), Millis(c.NextAt), c.Delivery.ID, c.Delivery.State, c.Delivery.Lease)
	if err != nil || n == 0 || c.Disable == "" {
		return err
	}
	if _, err := t.Exec(ctx, "disable webhook", `
		UPDATE webhook SET enabled = FALSE, disabled_reason = $1 WHERE id = $2`, c.Disable, c.Delivery.Webhook); err != nil {
		return err
	}
	return t.endOpen(ctx, c.Delivery.Webhook, endedAtOnce)
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
