package app

import (
	"context"
	"sync/atomic"
	"time"
)

// clock tells the time of the database. Machines that share one agree in this
// way about when an address expires, however wrong their own clocks are.
type clock struct {
	ask    func(context.Context) (time.Time, error) // the database
	offset atomic.Int64                             // its lead before this machine's clock
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// adjust compares the two clocks. The answer was on its way for some unknown
// part of the time that asking took, so a difference below that is none.
func (c *clock) adjust(ctx context.Context) error {
	asked := time.Now()
	theirs, err := c.ask(ctx)
	if err != nil {
		return err
	}
	took := time.Since(asked)
	offset := theirs.Sub(asked.Add(took / 2))
	if offset.Abs() <= took+10*time.Millisecond {
		offset = 0
	}
	c.offset.Store(int64(offset))
	return nil
}
