// Package pace keeps long computations from delaying short requests. Go looks for requests that have
// arrived when it has nothing else to run, and else only every 10 ms. So where every core computes, a
// request of a millisecond takes ten times as long. Yielding would not help: what yields can run.
package pace

import "time"

// Work is a computation that takes several milliseconds. It rests after each stretch of Every. A short
// Rest is enough to let requests in; Go makes a millisecond of it where nothing else happens. One as long
// as Every leaves half of a core to others.
type Work struct {
	Every, Rest time.Duration
	since       time.Time // the last rest
}

// Pause is called after each piece of work, such as a row of a table. Mostly it returns at once.
func (w *Work) Pause() {
	switch now := time.Now(); {
	case w.since.IsZero():
		w.since = now
	case now.Sub(w.since) >= w.Every:
		time.Sleep(w.Rest)
		w.since = time.Now()
	}
}

// List returns the work of a list with much metadata. Others of few milliseconds have no rest.
func List() *Work { return &Work{Every: 2 * time.Millisecond, Rest: 50 * time.Microsecond} }
