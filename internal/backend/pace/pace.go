// Package pace keeps long computations from delaying short requests. Go looks for requests that have
// arrived when it has nothing else to run, and else only every 10 ms. So where every core computes, a
// request of a millisecond takes ten times as long. Yielding would not help: what yields can run.
package pace

import "time"

// Work is a computation that takes several milliseconds. After each stretch of Every it lets in the
// requests that have arrived, or, with a Rest, it also leaves the core to others for that time.
type Work struct {
	Every, Rest time.Duration
	since       time.Time // the last pause
}

// Pause is called after each piece of work, such as a row of a table. Mostly it returns at once.
func (w *Work) Pause() {
	switch now := time.Now(); {
	case w.since.IsZero():
		w.since = now
		return
	case now.Sub(w.since) < w.Every:
		return
	case w.Rest > 0:
		time.Sleep(w.Rest)
	default:
		letIn()
	}
	w.since = time.Now()
}

// List returns the work of a list, which may have megabytes of metadata.
func List() *Work { return &Work{Every: time.Millisecond / 2} }
