package webhook

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/panics"
)

// cleanUpEvery is how often logs of removed webhooks, and deliveries to disabled ones, are looked for.
const cleanUpEvery = time.Second

// cleanUp finishes changes of webhooks, until ctx ends: it removes the logs of removed ones, and ends what
// was still to be delivered to disabled ones.
func (d *Dispatcher) cleanUp(ctx context.Context) {
	every := time.NewTicker(cleanUpEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		panics.Log(ctx, d.log, "cleaning up after webhooks panicked", func() {
			d.cleanUpAll(ctx, d.rows.RemoveLogs)
			d.cleanUpAll(ctx, d.rows.EndDeliveries)
		})
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// cleanUpAll repeats a step until nothing is left.
func (d *Dispatcher) cleanUpAll(ctx context.Context, step func(ctx context.Context, limit int) (more bool, err error)) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = step(ctx, prunedAtOnce); err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "could not clean up after webhooks that were deleted or disabled", "err", err)
			return
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
