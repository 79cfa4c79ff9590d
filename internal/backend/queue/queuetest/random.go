package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// step is one thing that happens to a queue in the random test.
type step struct {
	do     string       // enqueue, cancel, replace, succeed, fail, stop, crash
	tasks  []queue.Task // of enqueue and replace
	video  video.ID     // of cancel and replace
	keep   []queue.Kind // of cancel and replace
	commit bool         // of enqueue, cancel and replace
	pick   int          // which running task, of succeed and fail
}

// GoString keeps the list of steps short that a failure prints.
func (s step) GoString() string {
	return fmt.Sprintf("{%s %v %s keep=%v commit=%t pick=%d}", s.do, s.tasks, s.video, s.keep, s.commit, s.pick)
}

// names are few, so that steps meet. Each video has one task of a kind: then
// WaitIdle can wait for exactly one task.
func names() []queue.Task {
	var tasks []queue.Task
	for _, id := range []video.ID{someVideo, other} {
		for _, kind := range []queue.Kind{queue.Encode, queue.Audio, queue.Purge} {
			tasks = append(tasks, queue.Task{Kind: kind, Video: id})
		}
	}
	return tasks
}

func drawStep(rt *rapid.T) step {
	return step{
		do: rapid.SampledFrom([]string{
			"enqueue", "enqueue", "enqueue", "cancel", "replace", "succeed", "succeed", "succeed", "fail", "stop", "crash",
		}).Draw(rt, "do"),
		tasks:  rapid.SliceOfN(rapid.SampledFrom(names()), 1, 4).Draw(rt, "tasks"),
		video:  rapid.SampledFrom([]video.ID{someVideo, other}).Draw(rt, "video"),
		keep:   rapid.SampledFrom([][]queue.Kind{nil, nil, {queue.Purge}, {queue.Purge, queue.Audio}}).Draw(rt, "keep"),
		commit: rapid.IntRange(0, 3).Draw(rt, "commit") > 0,
		pick:   rapid.IntRange(0, 9).Draw(rt, "pick"),
	}
}

// testRandom does random things to queues. Whatever happens, a task that was
// committed and not cancelled ends exactly once or is still waiting, no name
// runs twice at once, and no cancelled or finished task runs.
func testRandom(t *testing.T, open func(t testing.TB) Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 30).Draw(rt, "steps")
		ok := t.Run("", func(t *testing.T) { // its own cleanup, so that databases do not pile up
			l := newLab(t, open(t))
			w := &world{lab: l, workers: workers, wanted: map[string]*wish{}}
			w.boot()
			for i, s := range steps {
				w.take(s)
				if t.Failed() {
					t.Fatalf("after step %d: %#v", i+1, s)
				}
			}
			w.checkWaiting()
		})
		if !ok {
			rt.Fatal("the queue broke its contract")
		}
	})
}

// world is what the random test knows about a queue.
type world struct {
	*lab
	workers int
	process *process
	running []*act // begun, not ended yet

	mu     sync.Mutex
	wanted map[string]*wish // by the name of the task
}

// wish is a task that was committed, not cancelled, and has not succeeded.
type wish struct {
	kind   queue.Kind
	failed bool // it waits for its retry
}

// process is one process: after a crash its handlers are ignored.
type process struct {
	begun  chan *act
	acting map[string]bool
	over   bool
}

// boot starts the queue as a new process.
func (w *world) boot() {
	now := &process{begun: make(chan *act, 1000), acting: map[string]bool{}}
	w.process, w.running = now, nil
	w.startWith(w.workers, func(ctx context.Context, t queue.Task) error {
		if !w.enter(ctx, now, t) {
			return errTask
		}
		defer w.leave(now, t)
		a := &act{Task: t, ctx: ctx, end: make(chan error, 1)}
		now.begun <- a
		select {
		case err := <-a.end:
			return err
		case <-w.closed:
			return errTask
		}
	})
}

// enter checks that a task may begin.
func (w *world) enter(ctx context.Context, now *process, t queue.Task) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := t.String()
	switch {
	case now.over:
		return false
	case now.acting[name]:
		w.Errorf("task %s runs twice at once", t)
	case len(now.acting) >= w.workers:
		w.Errorf("task %s is one more than %d at once", t, w.workers)
	case w.wanted[name] == nil && ctx.Err() == nil:
		w.Errorf("task %s began although it was cancelled or had ended", t)
	}
	now.acting[name] = true
	return true
}

func (w *world) leave(now *process, t queue.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(now.acting, t.String())
}

func (w *world) take(s step) {
	w.Helper()
	switch s.do {
	case "enqueue":
		w.change(s, nil)
	case "cancel":
		s.tasks = nil
		w.change(s, &s.video)
	case "replace":
		w.change(s, &s.video)
	case "succeed":
		w.endOne(s.pick, nil)
	case "fail":
		w.endOne(s.pick, errTask)
	case "stop":
		w.halt()
		w.restart()
		w.boot()
	case "crash":
		w.mu.Lock()
		w.process.over = true
		w.mu.Unlock()
		w.restart()
		w.boot()
	}
}

// change cancels a video, if one is given, and enqueues tasks, in one
// transaction.
func (w *world) change(s step, cancel *video.ID) {
	w.Helper()
	f := func(tx queue.Tx) error {
		if cancel != nil {
			if err := w.Queue.Cancel(w.Context(), tx, *cancel, s.keep...); err != nil {
				return err
			}
		}
		return w.Queue.Enqueue(w.Context(), tx, s.tasks...)
	}
	if !s.commit {
		w.rollback(f)
		return
	}
	w.wish(s.tasks) // before the commit: they may begin before it returns
	w.tx(f)
	if cancel != nil {
		w.drop(*cancel, s.keep, s.tasks)
	}
}

// wish notes tasks that are about to be enqueued. A name that is taken already
// stays as it is.
func (w *world) wish(tasks []queue.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range tasks {
		if w.wanted[t.String()] == nil {
			w.wanted[t.String()] = &wish{kind: t.Kind}
		}
	}
}

// drop forgets the cancelled tasks, except those enqueued again with the
// cancellation, which are new ones.
func (w *world) drop(id video.ID, keep []queue.Kind, again []queue.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range names() {
		if t.Video != id || slices.Contains(keep, t.Kind) {
			continue
		}
		delete(w.wanted, t.String())
		if slices.Contains(again, t) {
			w.wanted[t.String()] = &wish{kind: t.Kind}
		}
	}
}

// endOne ends a running task. If none runs though one is due, it waits for that.
func (w *world) endOne(pick int, result error) {
	w.Helper()
	w.collect()
	if len(w.running) == 0 && w.anyDue() {
		select {
		case a := <-w.process.begun:
			w.began(a)
		case <-time.After(testTimeout):
			w.Fatalf("no task begins, though one is due")
		}
	}
	if len(w.running) == 0 {
		return
	}
	i := pick % len(w.running)
	a := w.running[i]
	w.running = slices.Delete(w.running, i, i+1)

	switch {
	case errors.Is(context.Cause(a.ctx), queue.ErrCancelled):
		a.end <- result // changes nothing: the task is cancelled
	case result == nil:
		w.mu.Lock()
		delete(w.wanted, a.String()) // before it ends: it must not begin again
		w.mu.Unlock()
		w.finish(a, nil)
	default:
		w.mu.Lock()
		if wish := w.wanted[a.String()]; wish != nil {
			wish.failed = true
		}
		w.mu.Unlock()
		a.end <- result
	}
}

// collect records the tasks that have begun.
func (w *world) collect() {
	for len(w.process.begun) > 0 {
		w.began(<-w.process.begun)
	}
}

func (w *world) began(a *act) {
	w.running = append(w.running, a)
	w.mu.Lock()
	defer w.mu.Unlock()
	if wish := w.wanted[a.String()]; wish != nil {
		wish.failed = false
	}
}

func (w *world) anyDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wish := range w.wanted {
		if !wish.failed {
			return true
		}
	}
	return false
}

// halt stops the queue; the tasks that run end as soon as they may.
func (w *world) halt() {
	w.Helper()
	result := w.stop()
	for _, a := range w.running {
		w.ended(a)
		a.end <- nil
	}
	for {
		select {
		case a := <-w.process.begun:
			w.began(a)
			w.ended(a)
			a.end <- nil
		case err := <-result:
			if err != nil {
				w.Fatalf("stop: %v", err)
			}
			return
		}
	}
}

// checkWaiting stops the queue and checks that exactly the wanted tasks wait.
func (w *world) checkWaiting() {
	w.Helper()
	w.halt()
	got, err := w.Queue.Stats(w.Context())
	if err != nil {
		w.Fatalf("stats: %v", err)
	}
	for kind, s := range got {
		got[kind] = queue.Stat{Waiting: s.Waiting, Running: s.Running}
	}
	want := map[queue.Kind]queue.Stat{}
	for _, wish := range w.wanted {
		s := want[wish.kind]
		s.Waiting++
		want[wish.kind] = s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("the tasks that wait at the end differ (-want +got):\n%s", diff)
	}
}
