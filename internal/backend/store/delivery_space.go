package store

import (
	"context"
	"database/sql"

	"github.com/spool-video/spool/internal/video"
)

// FreeSpace removes at most limit deliveries, and the events that no other delivery needs: the oldest of those
// that have ended, or, if there are none and all may go, of those that are still open. The open ones are
// of the tenant whose open deliveries take the most, so that nobody can push out those of others. It
// returns how many of each it removed.
func (w Webhooks) FreeSpace(ctx context.Context, all bool, limit int) (ended, open int, err error) {
	err = w.s.InTx(ctx, func(tx *Tx) error {
		ended, open, err = tx.freeSpace(ctx, all, limit)
		return err
	})
	return ended, open, err
}

func (t *Tx) freeSpace(ctx context.Context, all bool, limit int) (ended, open int, err error) {
	ended, err = t.removeDeliveries(ctx, `created_at >= 0 AND state IN ('delivered', 'failed') ORDER BY created_at LIMIT $1`, limit)
	if err != nil || ended > 0 || !all {
		return ended, 0, err
	}
	tenant, err := t.largestBacklog(ctx)
	if err != nil || tenant == nil {
		return 0, 0, err
	}
	// What is held for somebody who fetches goes first: often, nobody does.
	open, err = t.removeDeliveries(ctx, `tenant = $2 AND state = 'held' ORDER BY created_at LIMIT $1`, limit, *tenant)
	if err == nil && open == 0 {
		open, err = t.removeDeliveries(ctx, `tenant = $2 AND state = 'pending' ORDER BY created_at LIMIT $1`, limit, *tenant)
	}
	return 0, open, err
}

// largestBacklog returns the tenant whose open deliveries take the most; nil: none are open. It jumps from
// tenant to tenant, and reads nothing but an index.
func (q queries) largestBacklog(ctx context.Context) (largest *video.Tenant, err error) {
	type backlog struct {
		tenant video.Tenant
		bytes  int64
	}
	all, err := collect(ctx, q, "find the largest backlog", func(row *sql.Rows) (b backlog, err error) {
		err = row.Scan(&b.tenant, &b.bytes)
		return b, err
	}, `
		WITH RECURSIVE lane (tenant) AS (
			SELECT (SELECT tenant FROM webhook_delivery WHERE (state = 'pending' OR state = 'held') AND tenant >= '' ORDER BY tenant LIMIT 1)
			UNION ALL
			SELECT (SELECT d.tenant FROM webhook_delivery AS d WHERE (d.state = 'pending' OR d.state = 'held') AND d.tenant > lane.tenant ORDER BY d.tenant LIMIT 1)
			  FROM lane WHERE lane.tenant IS NOT NULL
		)
		SELECT tenant, CAST(coalesce((SELECT sum(p.bytes) FROM webhook_delivery AS p WHERE p.tenant = lane.tenant AND p.state = 'pending'), 0)
		                  + coalesce((SELECT sum(h.bytes) FROM webhook_delivery AS h WHERE h.tenant = lane.tenant AND h.state = 'held'), 0) AS BIGINT)
		  FROM lane WHERE tenant IS NOT NULL`)
	most := int64(-1)
	for _, b := range all {
		if b.bytes > most {
			largest, most = &b.tenant, b.bytes
		}
	}
	return largest, err
}

// removeDeliveries removes the deliveries that a condition with its limit chooses, and the events that no
// other one needs. It returns how many deliveries it has removed.
func (t *Tx) removeDeliveries(ctx context.Context, which string, args ...any) (int, error) {
	events, err := collect(ctx, t.queries, "remove deliveries", func(row *sql.Rows) (event string, err error) {
		err = row.Scan(&event)
		return event, err
	}, `DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE `+which+`) RETURNING event_id`, args...)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	in, arg := idSubquery(1, events)
	_, err = t.affected(ctx, "remove events", `
		DELETE FROM webhook_event WHERE id IN `+in+`
		   AND NOT EXISTS (SELECT 1 FROM webhook_delivery AS d WHERE d.event_id = webhook_event.id)`, arg)
	return len(events), err
}

// RemoveLogs removes at most limit deliveries to a webhook that was removed, and the events that no other
// webhook gets. It reports whether there may be more.
func (w Webhooks) RemoveLogs(ctx context.Context, limit int) (more bool, err error) {
	return w.takeStep(ctx, queries.removedWebhooks, (*Tx).removeLogs, limit)
}

// takeStep takes one step of work of which some is left for webhooks. It looks outside of a transaction first,
// because SQLite has one writer, and nearly always there is nothing to do.
func (w Webhooks) takeStep(ctx context.Context, left func(queries, context.Context) ([]string, error), step func(*Tx, context.Context, int) (bool, error), limit int) (more bool, err error) {
	if ids, err := left(w.s.queries, ctx); err != nil || len(ids) == 0 {
		return false, err
	}
	err = w.s.InTx(ctx, func(tx *Tx) error {
		more, err = step(tx, ctx, limit)
		return err
	})
	return more, err
}

// removedWebhooks returns the first webhook whose log has to be removed, if there is one.
func (q queries) removedWebhooks(ctx context.Context) ([]string, error) {
	return q.queryNames(ctx, `SELECT id FROM webhook_removed WHERE id > '' ORDER BY id LIMIT 1`)
}

func (t *Tx) removeLogs(ctx context.Context, limit int) (more bool, err error) {
	ids, err := t.removedWebhooks(ctx)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	// Of several processes, one waits here for the other.
	if n, err := t.affected(ctx, "lock removed webhook", `UPDATE webhook_removed SET removed_at = removed_at WHERE id = $1`, ids[0]); err != nil || n == 0 {
		return true, err
	}
	n, err := t.removeDeliveries(ctx, `webhook_id = $2 ORDER BY created_at, id LIMIT $1`, limit, ids[0])
	if err == nil && n < limit {
		_, err = t.affected(ctx, "finish the removal of a webhook", `DELETE FROM webhook_removed WHERE id = $1`, ids[0])
	}
	return true, err
}
