package store

import (
	"context"
	"database/sql"
)

// RemoveLogs removes at most limit deliveries to a webhook that was removed, and the events that no other
// webhook gets. It reports whether there may be more.
func (w Webhooks) RemoveLogs(ctx context.Context, limit int) (more bool, err error) {
	return w.takeStep(ctx, Queries.removedWebhooks, (*Tx).removeLogs, limit)
}

// takeStep takes one step of work of which some is left for webhooks. It looks outside of a transaction first,
// because SQLite has one writer, and nearly always there is nothing to do.
func (w Webhooks) takeStep(ctx context.Context, left func(Queries, context.Context) ([]string, error), step func(*Tx, context.Context, int) (bool, error), limit int) (more bool, err error) {
	if ids, err := left(w.s.Queries, ctx); err != nil || len(ids) == 0 {
		return false, err
	}
	err = w.s.InTx(ctx, func(tx *Tx) error {
		more, err = step(tx, ctx, limit)
		return err
	})
	return more, err
}

// removedWebhooks returns the first webhook whose log has to be removed, if there is one.
func (q Queries) removedWebhooks(ctx context.Context) ([]string, error) {
	return q.queryNames(ctx, `SELECT id FROM webhook_removed WHERE id > '' ORDER BY id LIMIT 1`)
}

func (t *Tx) removeLogs(ctx context.Context, limit int) (more bool, err error) {
	ids, err := t.removedWebhooks(ctx)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	// Of several processes, one waits here for the other.
	if n, err := t.Exec(ctx, "lock removed webhook", `UPDATE webhook_removed SET removed_at = removed_at WHERE id = $1`, ids[0]); err != nil || n == 0 {
		return true, err
	}
	n, err := t.removeDeliveries(ctx, `webhook_id = $2 ORDER BY created_at, id LIMIT $1`, limit, ids[0])
	if err == nil && n < limit {
		_, err = t.Exec(ctx, "finish the removal of a webhook", `DELETE FROM webhook_removed WHERE id = $1`, ids[0])
	}
	return true, err
}

// removeDeliveries removes the deliveries that a condition with its limit chooses, and the events that no
// other one needs. It returns how many deliveries it has removed.
func (t *Tx) removeDeliveries(ctx context.Context, which string, args ...any) (int, error) {
	events, err := Collect(ctx, t.Queries, "remove deliveries", func(row *sql.Rows) (event string, err error) {
		err = row.Scan(&event)
		return event, err
	}, `DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE `+which+`) RETURNING event_id`, args...)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	in, arg := IDList(1, events)
	_, err = t.Exec(ctx, "remove events", `
		DELETE FROM webhook_event WHERE id IN `+in+`
		   AND NOT EXISTS (SELECT 1 FROM webhook_delivery AS d WHERE d.event_id = webhook_event.id)`, arg)
	return len(events), err
}
