package remote

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// settleTimeout is how long a failed write waits for the parts in flight: one that
// is cut off may still arrive after the abort, and would stay.
const settleTimeout = 5 * time.Second

// Parts sends the parts of one object, several at a time. The first error fails the
// write as a whole.
type Parts struct {
	ctx  context.Context // of the write: it ends with the caller's, or with the first error
	fail context.CancelCauseFunc

	sending  context.Context // of the parts in flight, which may outlive the write
	stop     context.CancelFunc
	inFlight sync.WaitGroup
	slots    chan struct{} // one for each part in flight
}

// NewParts begins a write with at most this many parts in flight.
func NewParts(ctx context.Context, limit int) *Parts {
	p := &Parts{slots: make(chan struct{}, limit)}
	p.ctx, p.fail = context.WithCancelCause(ctx)
	p.sending, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	return p
}

// Context ends with the caller's, or when the write has failed.
func (p *Parts) Context() context.Context { return p.ctx }

// Fail ends the write with this error.
func (p *Parts) Fail(err error) { p.fail(err) }

// Cause returns why the write failed, which may be what let err happen.
func (p *Parts) Cause(err error) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	return err
}

// Send sends a part in the background as soon as there is a free slot, and then
// calls release. When the write has failed already, it only calls release.
func (p *Parts) Send(release func(), send func(context.Context) error) {
	if !p.acquire() {
		release()
		return
	}
	p.inFlight.Go(func() {
		defer func() { <-p.slots }()
		defer release()
		if err := recoverPanic(func() error { return send(p.sending) }); err != nil {
			p.fail(err)
		}
	})
}

// recoverPanic returns the error of f, or its panic as an error: in a goroutine of its own, a panic would
// end the process.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return f()
}

// acquire waits for a free slot. It reports false when the write has failed.
func (p *Parts) acquire() bool {
	if p.ctx.Err() != nil {
		return false
	}
	select {
	case p.slots <- struct{}{}:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// Wait waits, once, until all parts have arrived. None can be sent after that.
func (p *Parts) Wait() error {
	for range cap(p.slots) { // with all slots taken, nothing is in flight
		if !p.acquire() {
			return context.Cause(p.ctx)
		}
	}
	return nil
}

// Close ends the write. It gives parts in flight some time to arrive, so that
// whoever aborts the upload next leaves none behind.
func (p *Parts) Close() {
	timeout := time.AfterFunc(settleTimeout, p.stop)
	p.inFlight.Wait()
	timeout.Stop()
	p.stop()
	p.fail(nil)
}
