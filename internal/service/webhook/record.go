package webhook

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
)

const (
	recordedAtOnce = 100
	recordTimeout  = 10 * time.Second
)

// record stores the results of tries, those that have come together in one transaction, until there
// are no more.
func (d *Dispatcher) record(ctx context.Context) {
	for first := range d.results {
		batch := d.collect(first)
		d.storeResults(ctx, batch)
		for _, r := range batch {
			if r.outcome == "" {
				d.slots.release(r.slot)
				continue
			}
			d.count.WebhookTried(r.outcome, time.Duration(r.Attempt.Milliseconds)*time.Millisecond)
			d.slots.releaseWithOutcome(r.slot, r.outcome == OutcomeDelivered)
		}
		d.Wake()
	}
}

// collect returns a result and those that wait behind it.
func (d *Dispatcher) collect(first result) []result {
	batch := []result{first}
	for len(batch) < recordedAtOnce {
		select {
		case r, ok := <-d.results:
			if !ok {
				return batch
			}
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// storeResults stores them. While the database is away it tries again, for as long as the leases last:
// after that, the messages are sent again.
func (d *Dispatcher) storeResults(ctx context.Context, batch []result) {
	all := make([]store.Conclusion, len(batch))
	for i, r := range batch {
		all[i] = r.Conclusion
	}
	for deadline := time.Now().Add(leaseMargin); ; {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		err := d.rows.Conclude(attempt, all)
		cancel()
		if err == nil {
			return
		}
		d.log.WarnContext(ctx, "could not record the outcome of deliveries", "deliveries", len(all), "err", err)
		if ctx.Err() != nil || time.Now().After(deadline) {
			return
		}
		select {
		case <-time.After(troublePause):
		case <-ctx.Done():
		}
	}
}

// prune removes now and then what is too old for the log, until ctx ends.
func (d *Dispatcher) prune(ctx context.Context) {
	every := time.NewTicker(pruneEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		panics.Log(ctx, d.log, "removing old events panicked", func() { d.removeOld(ctx) })
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// removeOld is done by one process of the fleet.
func (d *Dispatcher) removeOld(ctx context.Context) {
	mine, err := d.store.AcquireRunOnce(ctx, "webhook log", pruneEvery, d.now())
	for more := mine; more && err == nil && ctx.Err() == nil; {
		more, err = d.rows.RemoveOld(ctx, d.now().Add(-Keep), prunedAtOnce)
	}
	if err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "could not remove old events of webhooks", "err", err)
	}
}
