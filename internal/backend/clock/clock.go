// Package clock tells the time of another machine.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock tells the time of a machine that says what time it is now and then. In
// between it counts on by how long this machine says that something took, never
// by its time of day: that may be wrong, and may be set right at any moment. Its
// zero value goes by this machine until the first Set.
type Clock struct {
	// Local is the clock of this machine; nil means time.Now.
	Local func() time.Time
	last  atomic.Pointer[reading]
}

// reading is one moment by two clocks.
type reading struct{ theirs, ours time.Time }

// Set says what time it was there at a moment of ours. A difference of at most
// unsure is taken for none.
func (c *Clock) Set(theirs, ours time.Time, unsure time.Duration) {
	if theirs.Sub(ours).Abs() <= unsure {
		theirs = ours
	}
	c.last.Store(&reading{theirs, ours})
}

// Now returns the time there.
func (c *Clock) Now() time.Time { return c.At(c.Ours()) }

// At returns the time there at a moment of ours.
func (c *Clock) At(ours time.Time) time.Time {
	if r := c.last.Load(); r != nil {
		return r.theirs.Add(ours.Sub(r.ours))
	}
	return ours
}

// Ours returns the time here.
func (c *Clock) Ours() time.Time {
	if c.Local == nil {
		return time.Now()
	}
	return c.Local()
}
