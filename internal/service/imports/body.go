package imports

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
)

// body is the file as it arrives. It always ends with io.EOF, so that the storage keeps what has come
// before an error; err says then why it ended.
type body struct {
	ctx    context.Context
	cancel context.CancelCauseFunc // of the request
	src    io.Reader
	left   int64             // how many more bytes the file has; -1: not known
	check  func(int64) error // returns an error for a file that is too large
	timing Timing
	head   *head // checks the beginning of the file; nil: it was checked before

	count *atomic.Int64 // of bytes, with those that were there before
	err   error

	// Of the current period. Only the time that the server lets us wait counts.
	waited  time.Duration
	arrived int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil || b.left == 0 {
		return 0, io.EOF
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	idle := time.AfterFunc(b.timing.IdleTimeout, func() { b.cancel(errIdle) })
	began := time.Now()
	n, err := b.src.Read(p)
	idle.Stop()
	b.waited += time.Since(began)
	b.arrived += int64(n)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if tooLarge := b.check(b.count.Add(int64(n))); tooLarge != nil {
		b.err = tooLarge
		return 0, io.EOF
	}
	if b.err = b.head.check(p[:n]); b.err != nil {
		return 0, io.EOF
	}
	switch {
	case errors.Is(err, io.EOF):
		return n, io.EOF
	case err != nil:
		b.err = requestError(causeOf(b.ctx, err))
		return n, io.EOF
	}
	if b.err = b.checkSpeed(); b.err != nil {
		return n, io.EOF
	}
	return n, nil
}

// checkSpeed returns an error at the end of a period that brought too little.
func (b *body) checkSpeed() error {
	if b.waited < b.timing.SpeedPeriod {
		return nil
	}
	if float64(b.arrived) < minSpeed*b.waited.Seconds() {
		return requestError(errSlow)
	}
	b.waited, b.arrived = 0, 0
	return nil
}

// causeOf prefers why a context has ended to how that looked.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// head is the beginning of a file as it arrives. A file that cannot be a video is refused as soon as enough of
// it has arrived, by the same rule as every complete upload.
type head struct {
	bytes []byte
	admit func(head []byte) error
}

// check takes the next bytes of the file. It returns an error, once, if the file cannot be a video. A file
// that ends before there are enough is checked when it is complete.
func (h *head) check(next []byte) error {
	if h == nil || h.admit == nil {
		return nil
	}
	h.bytes = append(h.bytes, next[:min(len(next), probe.SniffSize-len(h.bytes))]...)
	if len(h.bytes) < probe.SniffSize {
		return nil
	}
	err := h.admit(h.bytes)
	h.bytes, h.admit = nil, nil
	return err
}
