package store

import "context"

// endedAtOnce is how many deliveries one transaction ends. There may be a million, and SQLite has one writer.
const endedAtOnce = 200

// openStates are the states of a delivery that is not finished.
var openStates = []DeliveryState{DeliveryPending, DeliveryHeld}

// endOpen ends deliveries to a webhook that was disabled in this transaction: so many now, and the rest by
// EndDeliveries.
func (t *Tx) endOpen(ctx context.Context, webhook string, limit int) error {
	if more, err := t.failOpen(ctx, webhook, limit); err != nil || !more {
		return err
	}
	return t.endLater(ctx, webhook)
}

func (t *Tx) endLater(ctx context.Context, webhook string) error {
	_, err := t.Exec(ctx, "end deliveries later", `
		INSERT INTO webhook_ending (id, began_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, webhook, Millis(t.now()))
	return err
}

// failOpen ends at most limit deliveries to a webhook that are not finished, and reports whether there are
// more. The state is compared twice: PostgreSQL compares only the outer condition again after it has waited
// for a transaction that concluded a delivery.
func (t *Tx) failOpen(ctx context.Context, webhook string, limit int) (more bool, err error) {
	for _, state := range openStates {
		ended, err := t.Exec(ctx, "end deliveries", `
			UPDATE webhook_delivery SET state = 'failed', next_at = NULL, lease = NULL
			 WHERE state = $2 AND id IN (SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT $3)`, webhook, state, limit)
		if err != nil {
			return false, err
		}
		limit -= int(ended)
	}
	for _, state := range openStates {
		left, err := t.queryNames(ctx, `SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT 1`, webhook, state)
		if err != nil || len(left) > 0 {
			return true, err
		}
	}
	return false, nil
}

// EndDeliveries ends at most limit deliveries to a webhook that was disabled with more than could be ended at
// once. It reports whether there may be more. Sending does not wait for it: nothing is sent to a
// webhook that is disabled.
func (w Webhooks) EndDeliveries(ctx context.Context, limit int) (more bool, err error) {
	return w.takeStep(ctx, Queries.endingWebhooks, (*Tx).endDeliveries, limit)
}

// endingWebhooks returns the first webhook whose deliveries have to be ended, if there is one.
func (q Queries) endingWebhooks(ctx context.Context) ([]string, error) {
	return q.queryNames(ctx, `SELECT id FROM webhook_ending WHERE id > '' ORDER BY id LIMIT 1`)
}

func (t *Tx) endDeliveries(ctx context.Context, limit int) (more bool, err error) {
	ids, err := t.endingWebhooks(ctx)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	// This locks the webhook against other processes and against changes by its tenant.
	disabled, err := t.Exec(ctx, "lock ending webhook", `UPDATE webhook SET tenant = tenant WHERE id = $1 AND NOT enabled`, ids[0])
	if err != nil {
		return false, err
	}
	if disabled == 0 { // it is gone
		return true, t.forgetEnding(ctx, ids[0])
	}
	_, err = t.endRest(ctx, ids[0], limit)
	return true, err
}

// endRest ends at most limit of the deliveries that are left, and reports whether there are more. The
// webhook is locked.
func (t *Tx) endRest(ctx context.Context, webhook string, limit int) (more bool, err error) {
	if more, err := t.failOpen(ctx, webhook, limit); err != nil || more {
		return true, err
	}
	return false, t.forgetEnding(ctx, webhook)
}

func (t *Tx) forgetEnding(ctx context.Context, webhook string) error {
	_, err := t.Exec(ctx, "finish ending deliveries", `DELETE FROM webhook_ending WHERE id = $1`, webhook)
	return err
}
