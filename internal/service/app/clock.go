package app

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
)

// databaseClock tells the time of the database. Machines that share one agree in
// this way about when an address expires, however wrong their own clocks are.
type databaseClock struct {
	clock.Clock
	ask func(context.Context) (time.Time, error)
}

// adjust compares the two clocks. The answer was on its way for some unknown
// part of the time that asking took, so a difference below that is none.
func (c *databaseClock) adjust(ctx context.Context) error {
	asked := c.Ours()
	theirs, err := c.ask(ctx)
	if err != nil {
		return err
	}
	took := c.Ours().Sub(asked)
	c.Set(theirs, asked.Add(took/2), took+10*time.Millisecond)
	return nil
}

// Now returns the time that all processes of a fleet go by.
func (a *App) Now() time.Time { return a.now() }
