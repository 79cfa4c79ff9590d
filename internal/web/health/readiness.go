package health

import (
	"context"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/panics"
)

const (
	// readyTimeout is how long the database and the storage may take to respond.
	readyTimeout = 5 * time.Second
	// readyMaxAge is how long a result is reused. A check of a bucket is a LIST, which costs money,
	// and /readyz needs no key.
	readyMaxAge = time.Second
)

// readiness checks whether the parts of the service respond. Requests that come during a check
// share its result, and so do those within a second afterwards.
type readiness struct {
	check func(context.Context) error

	mu     sync.Mutex
	latest *readyCheck
}

// readyCheck is one check. Its result may be read when done is closed.
type readyCheck struct {
	done  chan struct{}
	ended time.Time
	err   error
}

// wait returns the result of a check that is at most readyMaxAge old.
func (r *readiness) wait(ctx context.Context) error {
	c := r.current(ctx)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// current returns the check in progress, or one that has just ended, or begins another one.
func (r *readiness) current(ctx context.Context) *readyCheck {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.latest; c != nil {
		select {
		case <-c.done:
			if time.Since(c.ended) < readyMaxAge {
				return c
			}
		default:
			return c
		}
	}
	c := &readyCheck{done: make(chan struct{})}
	r.latest = c
	go r.run(context.WithoutCancel(ctx), c) // others wait for it if this client leaves
	return c
}

func (r *readiness) run(ctx context.Context, c *readyCheck) {
	defer close(c.done)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	c.err = panics.Catch(func() error { return r.check(ctx) })
	c.ended = time.Now()
}
