package clock

import (
	"context"
	"time"
)

// Database is the clock of a database. Processes that share a database agree in this way about
// when an address expires, however wrong their own clocks are. Adjust must be called from time to
// time.
type Database struct {
	Clock
	ask func(context.Context) (time.Time, error)
}

// NewDatabase returns a clock that asks for the time of the database, and asks once.
func NewDatabase(ctx context.Context, ask func(context.Context) (time.Time, error)) (*Database, error) {
	c := &Database{ask: ask}
	return c, c.Adjust(ctx)
}

// minSkew is the smallest difference between two clocks that counts, beside the duration of the
// query.
const minSkew = 10 * time.Millisecond

// Adjust compares the database's clock with this machine's. The answer took some unknown
// part of the query's duration to arrive, so a smaller difference is treated as none.
func (c *Database) Adjust(ctx context.Context) error {
	asked := c.Ours()
	theirs, err := c.ask(ctx)
	if err != nil {
		return err
	}
	took := c.Ours().Sub(asked)
	c.Set(theirs, asked.Add(took/2), took+minSkew)
	return nil
}
