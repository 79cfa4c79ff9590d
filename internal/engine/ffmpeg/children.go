package ffmpeg

import (
	"context"
	"sync"
	"time"
)

// children counts those that run.
type children struct {
	mu      sync.Mutex
	begun   int // so far
	running int
	none    chan struct{} // closed when none runs any more; nil if nobody waits for that
	more    chan struct{} // closed when another one begins; nil if nobody waits for that
}

// begin counts a child until end is called.
func (c *children) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	if c.more != nil {
		close(c.more)
		c.more = nil
	}
	c.running++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.running--; c.running == 0 && c.none != nil {
			close(c.none)
			c.none = nil
		}
	}
}

// waitForCalm waits until no child has run for a while. It returns false if ctx ends.
func (c *children) waitForCalm(ctx context.Context, calm time.Duration) bool {
	for ctx.Err() == nil {
		begun, none := c.state()
		pause := time.NewTimer(calm)
		if none != nil {
			pause.Stop()
		}
		select {
		case <-none: // the last one has ended; nil: there is none
		case <-pause.C:
			if now, none := c.state(); now == begun && none == nil {
				return true
			}
		case <-ctx.Done():
			pause.Stop()
		}
	}
	return false
}

// state returns how many children have begun so far, and a channel that is closed when the last one has
// ended, which is nil if none runs.
func (c *children) state() (begun int, none <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running > 0 && c.none == nil {
		c.none = make(chan struct{})
	}
	return c.begun, c.none
}

// count returns how many children have begun so far.
func (c *children) count() int {
	begun, _ := c.state()
	return begun
}

// waitForMore waits until more children have begun than so many. It returns false if ctx ends.
func (c *children) waitForMore(ctx context.Context, seen int) bool {
	more := c.next(seen)
	if more == nil {
		return ctx.Err() == nil
	}
	select {
	case <-more:
		return true
	case <-ctx.Done():
		return false
	}
}

// next returns a channel that is closed when the next child begins, or nil if more than so many have begun.
func (c *children) next(seen int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun > seen {
		return nil
	}
	if c.more == nil {
		c.more = make(chan struct{})
	}
	return c.more
}
