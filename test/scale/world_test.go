package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// stuck is how long nothing may happen, in real time, before a test gives up.
const stuck = time.Minute

// world is a simulation: a fleet on a real queue, and a clock that stands still
// while anything can happen without it. It is turned to the next event when every
// worker has a task, or every task that waits for nothing else has a worker.
type world struct {
	testing.TB
	enqueue enqueue // of whoever takes uploads
	load    *load

	over  chan struct{} // closed at the end: handlers go home
	moved chan struct{} // something happened

	mu       sync.Mutex
	now      time.Duration
	slots    int // tasks that the fleet can run at once
	live     int // tasks enqueued that have not ended
	stranded int // tasks of dead workers that nobody has found yet
	ending   int // handlers between their end and its consequences
	running  map[string]*act
	lost     map[string]time.Duration // tasks of dead workers, by when those died
	rerun    []time.Duration          // how long after the death they ran again
	begun    int
	err      error
}

// act is a task in the hands of a worker.
type act struct {
	queue.Task
	machine int
	until   time.Duration
	end     chan struct{}
}

func newWorld(t testing.TB, slots int, l *load) *world {
	return &world{
		TB: t, load: l, slots: slots, over: make(chan struct{}), moved: make(chan struct{}, 1),
		running: map[string]*act{}, lost: map[string]time.Duration{},
	}
}

// enqueue adds tasks in a transaction of its own.
type enqueue func(context.Context, []queue.Task) error

// handler is what a machine of the fleet runs tasks with.
func (w *world) handler(machine int, add enqueue) queue.Handler {
	return func(ctx context.Context, t queue.Task) error {
		a := w.begin(machine, t)
		select {
		case <-a.end:
			return w.end(ctx, t, add)
		case <-w.over:
		case <-ctx.Done():
		}
		return errors.New("the simulation is over")
	}
}

func (w *world) begin(machine int, t queue.Task) *act {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.signal()
	a := &act{t, machine, w.now + w.load.takes(t), make(chan struct{})}
	if other, ok := w.running[t.String()]; ok {
		w.err = errors.Join(w.err, fmt.Errorf("%s runs on machine %d and on %d", t, other.machine, machine))
	}
	w.running[t.String()] = a
	w.begun++
	if died, ok := w.lost[t.String()]; ok {
		w.rerun = append(w.rerun, w.now-died)
		delete(w.lost, t.String())
	}
	return a
}

// end does what follows from the end of a task.
func (w *world) end(ctx context.Context, t queue.Task, add enqueue) error {
	w.mu.Lock()
	next := w.load.videos[t.Video].ended(t, w.now)
	w.live += len(next)
	w.mu.Unlock()
	var err error
	if len(next) > 0 {
		err = add(ctx, next)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.signal()
	w.live--
	w.ending--
	w.err = errors.Join(w.err, err)
	return nil
}

func (w *world) signal() {
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// settle waits until nothing can happen before the clock is turned.
func (w *world) settle() {
	w.Helper()
	w.waitUntil(func() bool { return w.ending == 0 && len(w.running) == min(w.slots, w.live-w.stranded) })
}

// waitUntil waits for a state of the tasks.
func (w *world) waitUntil(reached func() bool) {
	w.Helper()
	for {
		w.mu.Lock()
		quiet := reached()
		state := fmt.Sprintf("at %v: %d of %d tasks run on %d workers, %d are stranded, %d are ending", w.now, len(w.running), w.live, w.slots, w.stranded, w.ending)
		err := w.err
		w.mu.Unlock()
		if err != nil {
			w.Fatal(err)
		}
		if quiet {
			return
		}
		select {
		case <-w.moved:
		case <-time.After(stuck):
			w.Fatalf("nothing moves any more, %s", state)
		}
	}
}

// event is something that happens at a time.
type event struct {
	at time.Duration
	do func()
}

// run lets all events happen and all tasks end.
func (w *world) run(events []event) {
	w.Helper()
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for {
		w.settle()
		next, ok := w.next(events)
		if !ok {
			return
		}
		w.turn(next)
		w.waitUntil(func() bool { return w.ending == 0 }) // what ends now ends before a machine that dies now
		for len(events) > 0 && events[0].at <= next {
			events[0].do()
			events = events[1:]
		}
	}
}

// next is when something happens; false when nothing will.
func (w *world) next(events []event) (at time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(events) > 0 {
		at, ok = events[0].at, true
	}
	for _, a := range w.running {
		if !ok || a.until < at {
			at, ok = a.until, true
		}
	}
	return at, ok
}

// turn turns the clock, and ends the tasks whose time has come.
func (w *world) turn(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = now
	for name, a := range w.running {
		if a.until <= now {
			w.ending++
			delete(w.running, name)
			close(a.end)
		}
	}
}

// arrive lets videos be uploaded now.
func (w *world) arrive(videos ...*simVideo) {
	w.Helper()
	var tasks []queue.Task
	w.mu.Lock()
	for _, v := range videos {
		tasks = append(tasks, v.enter(0)...)
	}
	w.live += len(tasks)
	w.mu.Unlock()
	if err := w.enqueue(w.Context(), tasks); err != nil {
		w.Fatal(err)
	}
}

// strand notes that a machine has died with all that it was doing.
func (w *world) strand(machine, slots int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots -= slots
	for name, a := range w.running {
		if a.machine == machine {
			w.lost[name] = w.now
			w.stranded++
			delete(w.running, name)
		}
	}
}

// found notes that the fleet knows of the death.
func (w *world) found() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stranded = 0
}
