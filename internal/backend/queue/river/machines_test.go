package river_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// testTimeout is how long a test waits for what must happen. It is reached only
// when a test fails.
const testTimeout = 20 * time.Second

// machine is a queue with a store of its own, as another process has it.
type machine struct {
	testing.TB
	*river.Queue
	store *store.Store
	begun chan *act
}

// act is one attempt at a task that the test directs.
type act struct {
	queue.Task
	ctx context.Context
	end chan error
}

func newMachine(t testing.TB, address string, o river.Options) *machine {
	t.Helper()
	o.Log = testLog(t)
	m := &machine{TB: t, store: openStore(t, address), begun: make(chan *act, 100)}
	m.Queue = open(t, m.store, o)
	return m
}

// work starts the queue with tasks that the test directs.
func (m *machine) work(n int) {
	m.Helper()
	over := make(chan struct{})
	m.run(n, func(ctx context.Context, t queue.Task) error {
		a := &act{t, ctx, make(chan error, 1)}
		m.begun <- a
		select {
		case err := <-a.end:
			return err
		case <-over:
			return nil
		}
	})
	m.Cleanup(func() { close(over) }) // before the stop
}

func (m *machine) run(n int, h queue.Handler) {
	m.Helper()
	if err := m.Start(m.Context(), queue.Encoding(n, h)); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.Context()), testTimeout)
		defer cancel()
		if err := m.Stop(ctx); err != nil {
			m.Error(err)
		}
	})
}

func (m *machine) tx(f func(tx *store.Tx) error) {
	m.Helper()
	if err := m.store.InTx(m.Context(), f); err != nil {
		m.Fatal(err)
	}
}

func (m *machine) enqueue(tasks ...queue.Task) {
	m.Helper()
	m.tx(func(tx *store.Tx) error { return m.Enqueue(m.Context(), tx, tasks...) })
}

func (m *machine) cancel(id video.ID) {
	m.Helper()
	m.tx(func(tx *store.Tx) error { return m.Cancel(m.Context(), tx, id) })
}

// next returns the next attempt that begins on this machine.
func (m *machine) next(want queue.Task, attempt int) *act {
	m.Helper()
	select {
	case a := <-m.begun:
		if a.String() != want.String() || a.Attempt != attempt {
			m.Fatalf("%s began with attempt %d, want %s with %d", a, a.Attempt, want, attempt)
		}
		return a
	case <-time.After(testTimeout):
		m.Fatalf("%s did not begin", want)
		return nil
	}
}

// stopped waits until a's context has ended, and checks why.
func (m *machine) stopped(a *act, want error) {
	m.Helper()
	select {
	case <-a.ctx.Done():
	case <-time.After(testTimeout):
		m.Fatalf("the context of %s did not end", a)
	}
	if got := context.Cause(a.ctx); !errors.Is(got, want) {
		m.Fatalf("the context of %s ended with %v, want %v", a, got, want)
	}
}

func (m *machine) waitIdle(id video.ID) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), testTimeout)
	defer cancel()
	if err := m.WaitIdle(ctx, id); err != nil {
		m.Fatal(err)
	}
}

// drained waits until nothing waits or runs on any machine.
func (m *machine) drained() {
	m.Helper()
	for deadline := time.Now().Add(2 * testTimeout); ; time.Sleep(10 * time.Millisecond) {
		stats, err := m.Stats(m.Context())
		if err == nil && len(stats) == 0 {
			return
		}
		if time.Now().After(deadline) {
			m.Fatalf("%+v, %v; want no task left", stats, err)
		}
	}
}

func encode(number int) queue.Task {
	return queue.Task{Kind: queue.Encode, Video: someVideo, Number: number}
}

func encodes(n int) []queue.Task {
	var tasks []queue.Task
	for i := range n {
		tasks = append(tasks, encode(i))
	}
	return tasks
}

func TestMachinesShareTheWork(t *testing.T) {
	t.Parallel()
	const total = 120
	address := migrated.Fresh(t)
	var mu sync.Mutex
	runs, byMachine := map[string]int{}, [3]int{}
	var machines []*machine
	for i := range byMachine {
		m := newMachine(t, address, river.Options{})
		m.run(2, func(_ context.Context, task queue.Task) error {
			time.Sleep(2 * time.Millisecond) // so that one machine cannot do all
			mu.Lock()
			defer mu.Unlock()
			runs[task.String()]++
			byMachine[i]++
			return nil
		})
		machines = append(machines, m)
	}
	machines[0].enqueue(encodes(total)...)
	machines[0].drained()
	mu.Lock()
	defer mu.Unlock()
	for name, n := range runs {
		if n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
	if len(runs) != total || min(byMachine[0], byMachine[1], byMachine[2]) == 0 {
		t.Errorf("%d tasks ran, %v by machine; want %d, and some on each", len(runs), byMachine, total)
	}
}

// A process that only answers requests never starts its queue. It can still
// enqueue, cancel, wait and count what runs elsewhere.
func TestAnotherMachineDoesTheWork(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	api, worker := newMachine(t, address, river.Options{}), newMachine(t, address, river.Options{})
	worker.work(1)
	api.enqueue(encode(0), encode(1))
	a := worker.next(encode(0), 1)
	if stats, err := api.Stats(t.Context()); err != nil || stats[queue.Encode].Waiting != 1 || stats[queue.Encode].Running != 1 {
		t.Errorf("stats %+v, %v; want one that waits and one that runs", stats, err)
	}
	api.cancel(someVideo)
	worker.stopped(a, queue.ErrCancelled)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := api.WaitIdle(short, someVideo); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitIdle returned %v while the handler had not, want it to wait", err)
	}
	a.end <- nil
	api.waitIdle(someVideo)
	api.drained()
}

// The notification of a cancellation can be lost. The next heartbeat finds the mark.
func TestCancellationIsFoundWithoutItsNotification(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{Heartbeat: 50 * time.Millisecond, LostAfter: time.Minute})
	m.work(1)
	m.enqueue(encode(0))
	a := m.next(encode(0), 1)
	pgtest.Exec(t, address, `UPDATE river_job SET metadata = metadata || '{"cancel_attempted_at": "x"}'`)
	m.stopped(a, queue.ErrCancelled)
	a.end <- errors.New("does not count")
	m.drained()
}

// A worker that was taken for dead comes back: nothing that it or River does about
// its old attempt touches the attempt of its successor.
func TestOldAttemptCannotEndTheNewOne(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]error{"with success": nil, "with an error": errors.New("sad")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := migrated.Fresh(t)
			silent := newMachine(t, address, river.Options{Heartbeat: time.Hour})
			silent.work(1)
			silent.enqueue(encode(0))
			old := silent.next(encode(0), 1)

			pgtest.Exec(t, address, `UPDATE queue_worker SET seen_at = now() - interval '16 seconds'`)
			other := newMachine(t, address, river.Options{Heartbeat: 50 * time.Millisecond, LostAfter: 15 * time.Second})
			other.work(1)
			again := other.next(encode(0), 1) // the silence of its worker is no attempt
			old.end <- result
			time.Sleep(time.Second) // River writes its own results up to 250 ms late
			if stats, err := other.Stats(t.Context()); err != nil || stats[queue.Encode].Running != 1 {
				t.Fatalf("stats %+v, %v; want the new run untouched", stats, err)
			}
			if again.ctx.Err() != nil {
				t.Fatalf("the new run was stopped: %v", context.Cause(again.ctx))
			}
			again.end <- nil
			other.drained()
		})
	}
}

// The worker itself notices that it lost its task, and stops.
func TestWorkerNoticesThatItLostItsTask(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{Heartbeat: 50 * time.Millisecond, LostAfter: time.Minute})
	m.work(1)
	m.enqueue(encode(0))
	old := m.next(encode(0), 1)
	pgtest.Exec(t, address, `UPDATE river_job SET state = 'discarded', finalized_at = now()`)
	m.stopped(old, queue.ErrCancelled)
	old.end <- nil
	m.drained()
}

// A process that cannot say that it is alive stops its tasks before others run them.
func TestWorkerThatIsCutOffStops(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, migrated.Fresh(t))
	o := river.Options{Heartbeat: 100 * time.Millisecond, LostAfter: time.Second}
	m := newMachine(t, proxy.URL(), o)
	m.work(1)
	m.enqueue(encode(0))
	old := m.next(encode(0), 1)
	proxy.Cut(t)
	m.stopped(old, queue.ErrCancelled)
	old.end <- nil
}
