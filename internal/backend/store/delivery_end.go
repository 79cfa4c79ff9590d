package store

import "context"

// endedAtOnce is how many deliveries one transaction ends. There may be a million, and SQLite has one writer.
const endedAtOnce = 200

// endOpen ends deliveries to a webhook that was disabled in this transaction: so many now, and the rest by
// EndDeliveries.
func (t *Tx) endOpen(ctx context.Context, webhook string, limit int) error {
	n, err := t.failOpen(ctx, webhook, limit)
	if err != nil || n < limit {
		return err
	}
	_, err = t.affected(ctx, "end deliveries later", `
		INSERT INTO webhook_ending (id, began_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, webhook, millis(t.now()))
	return err
}

// failOpen ends at most limit deliveries to a webhook that are not finished, and returns how many.
func (t *Tx) failOpen(ctx context.Context, webhook string, limit int) (n int, err error) {
	for _, state := range []DeliveryState{DeliveryPending, DeliveryHeld} {
		ended, err := t.affected(ctx, "end deliveries", `
			UPDATE webhook_delivery SET state = 'failed', next_at = NULL, lease = NULL
			 WHERE id IN (SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT $3)`, webhook, state, limit-n)
		n += int(ended)
		if err != nil || n >= limit {
			return n, err
		}
	}
	return n, nil
}

// EndDeliveries ends at most limit deliveries to a webhook that was disabled with more than could be ended at
// once. It reports whether there may be more. Whoever sends does not wait for it: nothing is sent to a
// webhook that is disabled.
func (w Webhooks) EndDeliveries(ctx context.Context, limit int) (more bool, err error) {
	if ids, err := w.s.queries.endingWebhooks(ctx); err != nil || len(ids) == 0 {
		return false, err
	}
	err = w.s.InTx(ctx, func(tx *Tx) error {
		more, err = tx.endDeliveries(ctx, limit)
		return err
	})
	return more, err
}

// endingWebhooks returns the first webhook whose deliveries have to be ended, if there is one.
func (q queries) endingWebhooks(ctx context.Context) ([]string, error) {
	return q.queryNames(ctx, `SELECT id FROM webhook_ending WHERE id > '' ORDER BY id LIMIT 1`)
}

func (t *Tx) endDeliveries(ctx context.Context, limit int) (more bool, err error) {
	ids, err := t.endingWebhooks(ctx)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	// Of several processes, one waits here for the other, as does whoever enables the webhook again.
	if n, err := t.affected(ctx, "lock ending webhook", `UPDATE webhook_ending SET began_at = began_at WHERE id = $1`, ids[0]); err != nil || n == 0 {
		return true, err
	}
	_, err = t.endRest(ctx, ids[0], limit)
	return true, err
}

// endRest ends at most limit of the deliveries that are left, and reports whether there may be more.
func (t *Tx) endRest(ctx context.Context, webhook string, limit int) (more bool, err error) {
	n, err := t.failOpen(ctx, webhook, limit)
	if err != nil || n == limit {
		return true, err
	}
	_, err = t.affected(ctx, "finish ending deliveries", `DELETE FROM webhook_ending WHERE id = $1`, webhook)
	return false, err
}
