package outbound

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	errTooLarge = errors.New("the response is too large")
	errIdle     = errors.New("the response stopped arriving")
)

// body is a response that ends when it is too large or stops arriving.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  int64 // what may still be read; negative: no limit
	idle   time.Duration
	timer  *time.Timer // nil without an idle timeout
}

func newBody(ctx context.Context, cancel context.CancelCauseFunc, from io.ReadCloser, o Options) *body {
	b := &body{ReadCloser: from, ctx: ctx, cancel: cancel, limit: -1, idle: o.IdleTimeout}
	if o.MaxBody > 0 {
		b.limit = o.MaxBody
	}
	if b.idle > 0 {
		b.timer = time.AfterFunc(b.idle, func() { cancel(errIdle) })
	}
	return b
}

func (b *body) Read(p []byte) (int, error) {
	if b.limit >= 0 && int64(len(p)) > b.limit+1 {
		p = p[:b.limit+1] // one more shows that there is more
	}
	n, err := b.ReadCloser.Read(p)
	if b.timer != nil && n > 0 {
		b.timer.Reset(b.idle)
	}
	if b.limit >= 0 {
		if int64(n) > b.limit {
			n, b.limit = int(b.limit), 0
			return n, errTooLarge
		}
		b.limit -= int64(n)
	}
	if err != nil && errors.Is(context.Cause(b.ctx), errIdle) {
		err = errIdle
	}
	return n, err
}

func (b *body) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
