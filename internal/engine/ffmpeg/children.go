package ffmpeg

import (
	"context"
	"sync"
)

// children counts those that run.
type children struct {
	mu      sync.Mutex
	running int
	none    chan struct{} // closed when none runs any more; nil if nobody waits for that
}

// begin counts a child until end is called.
func (c *children) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// waitForNone waits until no child runs. It returns false if ctx ends.
func (c *children) waitForNone(ctx context.Context) bool {
	for ctx.Err() == nil {
		none := c.someRun()
		if none == nil {
			return true
		}
		select {
		case <-none:
		case <-ctx.Done():
		}
	}
	return false
}

// someRun returns nil if no child runs, and else a channel that is closed when the last one has ended.
func (c *children) someRun() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == 0 {
		return nil
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	return c.none
}
