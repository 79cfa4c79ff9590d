package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// held is the state of a delivery that waits until the tenant fetches it. Tenants see it as pending.
const held State = "held"

// deliveryRow is one event for one webhook, as it is stored.
type deliveryRow struct {
	ID, Webhook, Event string
	Tenant             video.Tenant
	Type               video.EventType
	Video              video.ID // "" for a test
	State              State
	Tries              int // since it was recorded or replayed
	Attempts           []attemptRow
	CreatedAt          time.Time
	NextAt             time.Time // zero: there is no other try
	Round              string    // of tries: a new one begins with each fetch of a held one, and each replay of others
}

// attemptRow is what became of one try.
type attemptRow struct {
	At           time.Time `json:"at"`
	Status       int       `json:"status,omitempty"` // of the response; 0: there was none
	Error        string    `json:"error,omitempty"`
	Milliseconds int64     `json:"ms"`
}

// deliveryNotFound is the answer for a delivery that does not exist.
func deliveryNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "delivery_not_found", Msg: "There is no such delivery, or it is older than 30 days."}
}

const deliveryColumns = `id, webhook_id, event_id, tenant, type, video_id, state, tries, attempts, created_at, next_at, lease`

func scanDelivery(row *sql.Rows) (d deliveryRow, err error) {
	var attempts string
	var created, next sql.NullInt64
	var round sql.NullString
	if err := row.Scan(&d.ID, &d.Webhook, &d.Event, &d.Tenant, &d.Type, &d.Video, &d.State, &d.Tries, &attempts, &created, &next, &round); err != nil {
		return d, err
	}
	d.CreatedAt, d.NextAt, d.Round = store.FromMillis(created), store.FromMillis(next), round.String
	if err := json.Unmarshal([]byte(attempts), &d.Attempts); err != nil {
		return d, fmt.Errorf("attempts of delivery %s: %w", d.ID, err)
	}
	return d, nil
}

// listDeliveries lists at most limit deliveries to a webhook, newest first, from after on;
// with a state, only those.
func listDeliveries(ctx context.Context, q store.Queries, webhook string, state State, after video.Cursor, limit int) ([]deliveryRow, error) {
	where, args := `webhook_id = $1`, []any{webhook}
	if state != "" {
		args = append(args, state)
		where += fmt.Sprintf(` AND state = $%d`, len(args))
	}
	if after != (video.Cursor{}) {
		args = append(args, store.Millis(after.CreatedAt), after.ID)
		where += fmt.Sprintf(` AND (created_at, id) < ($%d, $%d)`, len(args)-1, len(args))
	}
	args = append(args, limit)
	return store.Collect(ctx, q, "list deliveries", scanDelivery,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE `+where+
			fmt.Sprintf(` ORDER BY created_at DESC, id DESC LIMIT $%d`, len(args)), args...)
}

// findDelivery returns a delivery of a tenant.
func findDelivery(ctx context.Context, q store.Queries, tenant video.Tenant, id string) (deliveryRow, error) {
	found, err := store.Collect(ctx, q, "read delivery", scanDelivery,
		`SELECT `+deliveryColumns+` FROM webhook_delivery WHERE id = $1 AND tenant = $2`, id, tenant)
	if err == nil && len(found) == 0 {
		return deliveryRow{}, deliveryNotFound()
	}
	if err != nil {
		return deliveryRow{}, err
	}
	return found[0], nil
}

// sendEvent records an event for one webhook, whatever events the webhook has asked for. It reports false,
// and records nothing, if most deliveries to it are open already.
func (r rows) sendEvent(ctx context.Context, tenant video.Tenant, webhook string, e eventRow, most int) (sent bool, err error) {
	err = r.store.InTx(ctx, func(tx *store.Tx) error {
		sent = false
		h, err := lockWebhook(ctx, tx, tenant, webhook)
		if err != nil {
			return err
		}
		if full, err := hasOpen(ctx, tx.Queries, h, most); err != nil || full {
			return err
		}
		sent = true
		if err := did(ctx, tx, video.ActionWebhookTest, tenant, webhook); err != nil {
			return err
		}
		return r.record.insertEvent(ctx, tx, e, []Webhook{h})
	})
	return sent && err == nil, err
}

// hasOpen reports whether that many deliveries to a webhook are not finished.
func hasOpen(ctx context.Context, q store.Queries, h Webhook, n int) (bool, error) {
	found, err := store.Collect(ctx, q, "find open deliveries", scanID,
		`SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT $3`, h.ID, h.unfinishedState(), n)
	return len(found) == n, err
}

func scanID(row *sql.Rows) (id string, err error) {
	err = row.Scan(&id)
	return id, err
}

// replay has a delivery tried again from the beginning. Its log stays. replay is a new id, by which tries from
// before it are told from those after it.
func (r rows) replay(ctx context.Context, h Webhook, id, replay string, now time.Time) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error {
		round := sql.NullString{String: replay, Valid: !h.Pull}
		found, err := store.Collect(ctx, tx.Queries, "replay delivery", scanDelivery, `
			UPDATE webhook_delivery SET state = $1, tries = 0, next_at = $2, lease = $3 WHERE id = $4 AND webhook_id = $5
			RETURNING `+deliveryColumns, h.unfinishedState(), store.Millis(now), round, id, h.ID)
		if err == nil && len(found) == 0 {
			return deliveryNotFound()
		}
		if err != nil {
			return err
		}
		if err := did(ctx, tx, video.ActionWebhookReplay, h.Tenant, id); err != nil {
			return err
		}
		return r.record.send(ctx, tx, found)
	})
}

// replaySeparator stands between the id of a delivery and the id of its last replay, which is empty at first.
const replaySeparator = "/"

// send enqueues deliveries, except for the held ones.
func (r recorder) send(ctx context.Context, tx *store.Tx, all []deliveryRow) error {
	var tasks []queue.Task
	for _, d := range all {
		if d.State == Pending {
			tasks = append(tasks, queue.Task{Kind: queue.Deliver, ID: d.ID + replaySeparator + d.Round, Tenant: d.Tenant, Endpoint: d.Webhook})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	return r.queue.Enqueue(ctx, tx, tasks...)
}

// pendingDelivery returns a delivery that is to be sent, or none if it has ended, or was replayed since.
func pendingDelivery(ctx context.Context, q store.Queries, id, replay string) ([]deliveryRow, error) {
	return store.Collect(ctx, q, "read delivery", scanDelivery, `SELECT `+deliveryColumns+`
		FROM webhook_delivery WHERE id = $1 AND coalesce(lease, '') = $2 AND state = 'pending'`, id, replay)
}

// oldestPending returns when the oldest pending delivery was recorded; zero if there is
// none.
func oldestPending(ctx context.Context, q store.Queries) (time.Time, error) {
	found, err := store.Collect(ctx, q, "find the oldest delivery", func(row *sql.Rows) (at sql.NullInt64, err error) {
		err = row.Scan(&at)
		return at, err
	}, `SELECT created_at FROM webhook_delivery WHERE state = 'pending' AND created_at >= 0 ORDER BY created_at LIMIT 1`)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return store.FromMillis(found[0]), nil
}

// claimHeld leases at most limit deliveries that are held to be fetched.
func claimHeld(ctx context.Context, tx *store.Tx, webhook string, limit int, round string, now, until time.Time) ([]deliveryRow, error) {
	return store.Collect(ctx, tx.Queries, "claim deliveries", scanDelivery, `
		UPDATE webhook_delivery SET lease = $1, next_at = $2 WHERE state = 'held' AND next_at <= $3 AND id IN (
		SELECT id FROM webhook_delivery WHERE webhook_id = $4 AND state = 'held' AND next_at <= $3 ORDER BY next_at LIMIT $5)
		RETURNING `+deliveryColumns, round, store.Millis(until), store.Millis(now), webhook, limit)
}

// maxAttempts is how many attempts the log of a delivery keeps. Replays add to it.
const maxAttempts = 100

// conclusion is what becomes of a delivery after a try.
type conclusion struct {
	Delivery deliveryRow // as it was before
	Attempt  attemptRow
	State    State // from now on
	NextAt   time.Time
	Tries    int
	Disable  string // why its webhook is disabled; "": it is not
}

// conclude records a try. A delivery that has ended, or was replayed or fetched again, stays as it is. One
// that is sent keeps the id of its replay.
func (r recorder) conclude(ctx context.Context, tx *store.Tx, c conclusion) error {
	attempts := append(slices.Clone(c.Delivery.Attempts), c.Attempt)
	text, err := json.Marshal(attempts[max(0, len(attempts)-maxAttempts):])
	if err != nil {
		return fmt.Errorf("store attempts of %s: %w", c.Delivery.ID, err)
	}
	n, err := tx.Exec(ctx, "conclude delivery", `
		UPDATE webhook_delivery SET state = $1, tries = $2, attempts = $3, next_at = $4, lease = CASE state WHEN 'held' THEN NULL ELSE lease END
		 WHERE id = $5 AND state = $6 AND coalesce(lease, '') = $7`,
		c.State, c.Tries, string(text), store.Millis(c.NextAt), c.Delivery.ID, c.Delivery.State, c.Delivery.Round)
	if err != nil || n == 0 || c.Disable == "" {
		return err
	}
	if _, err := tx.Exec(ctx, "disable webhook", `
		UPDATE webhook SET enabled = FALSE, disabled_reason = $1 WHERE id = $2`, c.Disable, c.Delivery.Webhook); err != nil {
		return err
	}
	return r.endOpen(ctx, tx, c.Delivery.Tenant, c.Delivery.Webhook)
}
