package webhook

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

// stepSize is how many deliveries one transaction ends or removes. There may be a million, and SQLite has one writer.
const stepSize = 200

// openStates are the states of a delivery that is not finished.
var openStates = []State{Pending, held}

// endOpen ends deliveries to a webhook that was disabled in this transaction: some now, and the rest by a task.
// Sending does not wait for it: nothing is sent to a webhook that is disabled.
func (r recorder) endOpen(ctx context.Context, tx *store.Tx, tenant video.Tenant, webhook string) error {
	if more, err := failOpen(ctx, tx, webhook, stepSize); err != nil || !more {
		return err
	}
	return r.cleanUpLater(ctx, tx, tenant, webhook)
}

// failOpen ends at most limit deliveries to a webhook that are not finished, and reports whether there are
// more. The state is compared twice: PostgreSQL compares only the outer condition again after it has waited
// for a transaction that concluded a delivery.
func failOpen(ctx context.Context, tx *store.Tx, webhook string, limit int) (more bool, err error) {
	for _, state := range openStates {
		ended, err := tx.Exec(ctx, "end deliveries", `
			UPDATE webhook_delivery SET state = 'failed', next_at = NULL, lease = NULL
			 WHERE state = $2 AND id IN (SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT $3)`, webhook, state, limit)
		if err != nil {
			return false, err
		}
		limit -= int(ended)
	}
	for _, state := range openStates {
		left, err := store.Collect(ctx, tx.Queries, "find open deliveries", scanID,
			`SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND state = $2 LIMIT 1`, webhook, state)
		if err != nil || len(left) > 0 {
			return true, err
		}
	}
	return false, nil
}

// cleanUpLater enqueues the task that cleans up after a webhook that this transaction disables or deletes. Its name
// is its own, so that none is skipped because one from before still runs.
func (r recorder) cleanUpLater(ctx context.Context, tx *store.Tx, tenant video.Tenant, webhook string) error {
	return r.queue.Enqueue(ctx, tx, queue.Task{Kind: queue.CleanUp, ID: webhook + "/" + newID(), Tenant: tenant})
}

// cleanUp handles the tasks of cleanUpLater: it ends what was still to be delivered to a disabled webhook, or removes
// the log of a deleted one.
func (s *Service) cleanUp(ctx context.Context, t queue.Task) error {
	webhook, _, _ := strings.Cut(t.ID, "/")
	for more := true; more; {
		err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
			more, err = cleanUpStep(ctx, tx, webhook, stepSize)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cleanUpStep ends or removes at most limit deliveries, and reports whether there may be more. It locks the webhook
// against changes by its tenant. One that was enabled again has no old deliveries.
func cleanUpStep(ctx context.Context, tx *store.Tx, webhook string, limit int) (more bool, err error) {
	found, err := store.Collect(ctx, tx.Queries, "lock webhook", func(row *sql.Rows) (enabled bool, err error) {
		err = row.Scan(&enabled)
		return enabled, err
	}, `UPDATE webhook SET tenant = tenant WHERE id = $1 RETURNING enabled`, webhook)
	switch {
	case err != nil:
		return false, err
	case len(found) == 0:
		return removeDeliveries(ctx, tx, webhook, limit)
	case found[0]:
		return false, nil
	}
	return failOpen(ctx, tx, webhook, limit)
}

// removeDeliveries removes at most limit deliveries to a webhook, and the events that no other one gets. It reports
// whether there may be more.
func removeDeliveries(ctx context.Context, tx *store.Tx, webhook string, limit int) (more bool, err error) {
	events, err := store.Collect(ctx, tx.Queries, "remove deliveries", scanID, `
		DELETE FROM webhook_delivery WHERE id IN (
		SELECT id FROM webhook_delivery WHERE webhook_id = $1 ORDER BY created_at, id LIMIT $2) RETURNING event_id`, webhook, limit)
	if err != nil || len(events) == 0 {
		return false, err
	}
	in, arg := store.IDList(1, events)
	_, err = tx.Exec(ctx, "remove events", `
		DELETE FROM webhook_event WHERE id IN `+in+`
		   AND NOT EXISTS (SELECT 1 FROM webhook_delivery AS d WHERE d.event_id = webhook_event.id)`, arg)
	return len(events) == limit, err
}

// prune removes now and then what is too old for the log, until ctx ends.
func (s *Service) prune(ctx context.Context) {
	every := time.NewTicker(pruneEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		panics.Log(ctx, s.log, "removing old events panicked", func() { s.removeOld(ctx) })
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// removeOld is done by one process of the fleet.
func (s *Service) removeOld(ctx context.Context) {
	mine, err := s.store.AcquireRunOnce(ctx, "webhook log", pruneEvery, s.now())
	for more := mine; more && err == nil && ctx.Err() == nil; {
		err = s.store.InTx(ctx, func(tx *store.Tx) (err error) {
			more, err = removeOld(ctx, tx, s.now().Add(-Keep), stepSize)
			return err
		})
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "could not remove old events of webhooks", "err", err)
	}
}

// removeOld deletes at most limit deliveries, and as many events, that were recorded
// before the given time. It reports whether there may be more.
func removeOld(ctx context.Context, tx *store.Tx, before time.Time, limit int) (more bool, err error) {
	for _, table := range []string{"webhook_delivery", "webhook_event"} {
		n, err := tx.Exec(ctx, "remove old events", `
			DELETE FROM `+table+` WHERE id IN (
			SELECT id FROM `+table+` WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, store.Millis(before), limit)
		if err != nil {
			return false, err
		}
		more = more || n == int64(limit)
	}
	return more, nil
}
