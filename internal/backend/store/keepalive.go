package store

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/panics"
)

// KeepAliveWhile runs f, which takes long and does not use the transaction, and
// meanwhile keeps PostgreSQL from ending the transaction. If that fails, the locks
// of the transaction are gone: the context of f ends, and KeepAliveWhile returns
// the error once f has returned.
//
// f runs in the goroutine of the caller, so that its panic is handled like any
// other panic of the caller.
func (t *Tx) KeepAliveWhile(ctx context.Context, f func(context.Context) error) (err error) {
	if t.keepAlive == 0 {
		return f(ctx)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		err := panics.Catch(func() error { return t.sendKeepAlives(ctx, stop) })
		if err != nil {
			cancel(err)
		}
		stopped <- err
	}()
	defer func() { // also after a panic: one goroutine at a time may use the transaction
		close(stop)
		if lost := <-stopped; lost != nil {
			err = lost
		}
	}()
	return f(running)
}

// sendKeepAlives sends a statement now and then until stop is closed, or one fails.
func (t *Tx) sendKeepAlives(ctx context.Context, stop <-chan struct{}) error {
	ticks := time.NewTicker(t.keepAlive)
	defer ticks.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-ticks.C:
			if _, err := t.db.ExecContext(ctx, `SELECT 1`); ctx.Err() != nil {
				return nil // f has to end, too, and knows what it has waited for
			} else if err != nil {
				return Wrap("keep a transaction alive", err)
			}
		}
	}
}
