// Package clock tells the time of another machine.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock tells the time of another machine, which reports its time now and then. In
// between, Clock advances by the monotonic clock of this machine, never by its time of
// day, which may be wrong or be corrected at any moment. The zero value tells the time
// of this machine until the first Set.
type Clock struct {
	// Local is the clock of this machine; nil means time.Now.
	Local func() time.Time
	last  atomic.Pointer[reading]
}

// reading is one moment on both clocks.
type reading struct{ theirs, ours time.Time }

// Set records the time of the other machine at a time of ours. Clocks that differ by at
// most unsure are taken to agree.
func (c *Clock) Set(theirs, ours time.Time, unsure time.Duration) {
	if theirs.Sub(ours).Abs() <= unsure {
		theirs = ours
	}
	c.last.Store(&reading{theirs, ours})
}

// Now returns the time of the other machine.
func (c *Clock) Now() time.Time { return c.At(c.Ours()) }

// At returns the time of the other machine at a time of ours.
func (c *Clock) At(ours time.Time) time.Time {
	if r := c.last.Load(); r != nil {
		return r.theirs.Add(ours.Sub(r.ours))
	}
	return ours
}

// Ours returns the time of this machine.
func (c *Clock) Ours() time.Time {
	if c.Local == nil {
		return time.Now()
	}
	return c.Local()
}
