// Package pace keeps long computations from delaying short requests. Go looks for requests that have
// arrived when a goroutine waits for something, and else only every 10 ms. So where every core
// computes, a request of a millisecond takes ten times as long.
package pace

import "time"

const (
	stretch = time.Millisecond / 2
	rest    = 20 * time.Microsecond
)

// Work is a computation of several milliseconds. The zero value is one that has just begun.
type Work struct{ rested time.Time }

// Pause lets others run, if there was no pause for a while. It is cheap enough to be called for
// every row of a table.
func (w *Work) Pause() {
	if w.rested.IsZero() {
		w.rested = time.Now()
		return
	}
	if time.Since(w.rested) > stretch {
		time.Sleep(rest)
		w.rested = time.Now()
	}
}
