package river_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

func TestWorkersAreListed(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	o := river.Options{Heartbeat: 50 * time.Millisecond, LostAfter: 15 * time.Second}
	api, busy, idle := newMachine(t, address, o), newMachine(t, address, o), newMachine(t, address, o)
	busy.work(3)
	api.enqueue(encodes(4)...)
	(<-busy.begun).end <- nil // in any order, because three begin at once
	for range 3 {
		<-busy.begun
	}
	idle.work(2)
	workers := api.workersWhen(func(all []queue.Worker) bool { return len(all) == 2 && all[0].Done == 1 })
	first, second := workers[0], workers[1]
	if first.Slots != 3 || len(first.Running) != 3 || first.Host == "" || first.Failed != 0 {
		t.Errorf("the busy worker is %+v", first)
	}
	if second.Slots != 2 || len(second.Running) != 0 || second.Done != 0 || second.Age > first.Age {
		t.Errorf("the idle worker is %+v", second)
	}
	for _, r := range first.Running {
		if r.Kind != queue.Encode || r.Video != someVideo || r.Attempt != 1 || r.For <= 0 || r.For > first.Age {
			t.Errorf("it runs %+v", r)
		}
	}
	if first.Silent > 15*time.Second || first.ID == second.ID {
		t.Errorf("workers %+v", workers)
	}
	if err := idle.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	api.workersWhen(func(all []queue.Worker) bool { return len(all) == 1 && all[0].ID == first.ID })
}

// workersWhen waits until the list of workers is as it should be.
func (m *machine) workersWhen(fine func([]queue.Worker) bool) []queue.Worker {
	m.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		all, err := m.Workers(m.Context())
		if err != nil {
			m.Fatal(err)
		}
		if fine(all) {
			return all
		}
		if time.Now().After(deadline) {
			m.Fatalf("the workers are %+v", all)
		}
	}
}

// Several machines admit tasks of all urgencies, while some come in, fail and are cancelled. Each task
// ends once.
func TestAdmissionLosesNothing(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 20, 12
	address := migrated.Fresh(t)
	var mu sync.Mutex
	ended, failed := map[string]int{}, map[string]bool{}
	var machines []*machine
	for range 3 {
		m := newMachine(t, address, river.Options{Heartbeat: 100 * time.Millisecond, LostAfter: time.Minute})
		m.run(3, func(_ context.Context, task queue.Task) error {
			mu.Lock()
			defer mu.Unlock()
			if name := task.String(); task.Number%10 == 0 && !failed[name] {
				failed[name] = true
				return errors.New("sad")
			}
			ended[task.String()]++
			return nil
		})
		machines = append(machines, m)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		var tasks []queue.Task
		for i := range perRound {
			tasks = append(tasks, queue.Task{
				Kind: queue.Encode, Video: someVideo, Number: round*perRound + i,
				Tenant: video.Tenant("abc"[i%3 : i%3+1]), Priority: random.IntN(20),
			})
		}
		machines[round%3].enqueue(tasks...)
		machines[round%3].cancel("another video")
	}
	machines[0].drained()
	mu.Lock()
	defer mu.Unlock()
	for name, n := range ended {
		if n != 1 {
			t.Errorf("%s ended %d times", name, n)
		}
	}
	if len(ended) != rounds*perRound {
		t.Errorf("%d tasks ended, want %d", len(ended), rounds*perRound)
	}
}

// A task that was put back for a time that is too far away does not wait for it.
func TestClockOfAStoppedWorkerIsNoMatter(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{})
	m.enqueue(encode(0))
	pgtest.Exec(t, address, `UPDATE river_job SET state = 'available', scheduled_at = now() + interval '7 minutes'`)
	m.work(1)
	m.next(encode(0), 1).end <- nil
	m.drained()
}
