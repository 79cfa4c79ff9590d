package river_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// A task that failed must not wait behind everything that came meanwhile: an
// inspection that met a full disk would wait for all other videos.
func TestRetryKeepsItsPriority(t *testing.T) {
	t.Parallel()
	m := newMachine(t, migrated.Fresh(t), river.Options{})
	m.work(1)
	urgent := queue.Task{Kind: queue.Inspect, Video: someVideo, Priority: 1}
	later := encodes(3)
	for i := range later {
		later[i].Priority = 5
	}
	m.enqueue(append(later, urgent)...)
	m.next(urgent, 1).end <- errors.New("sad")
	first := m.next(later[0], 1)
	m.waitFor(`SELECT count(*) = 1 FROM river_job WHERE args->>'kind' = 'inspect' AND state = 'pending' AND priority = 1`)
	first.end <- nil
	m.next(urgent, 2).end <- nil
	m.next(later[1], 1).end <- nil
	m.next(later[2], 1).end <- nil
}

// River's scheduler makes a task available as soon as it is due, even before others that wait. It finds none, because no
// task is ever in a state that it looks for.
func TestRiverMakesNoTaskAvailable(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{Heartbeat: 50 * time.Millisecond, LostAfter: 15 * time.Second})
	pgtest.Exec(t, address, `CREATE TABLE seen (state text);
		CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (NEW.state); RETURN NULL; END $$;
		CREATE TRIGGER see AFTER INSERT OR UPDATE OF state ON river_job FOR EACH ROW EXECUTE FUNCTION see()`)
	m.work(1)
	spare := encode(1)
	spare.Priority = queue.Spare
	m.enqueue(spare)
	yields := m.next(spare, 1)
	m.enqueue(encode(0))
	<-yields.ctx.Done()
	yields.end <- nil
	m.next(encode(0), 1).end <- queue.RetryAfter(time.Minute, errors.New("sad"))
	m.next(spare, 1).end <- queue.RetryAfter(time.Millisecond, errors.New("sad"))
	m.next(spare, 2).end <- errors.New("sad")
	m.waitFor(`SELECT count(*) = 2 FROM river_job WHERE state = 'pending'`)
	m.waitFor(`SELECT count(*) > 3 FROM seen WHERE state = 'running'`)
	m.waitFor(`SELECT NOT EXISTS (SELECT 1 FROM seen WHERE state IN ('retryable', 'scheduled'))`)
}

// waitFor waits until a question to the database is answered with true.
func (m *machine) waitFor(question string) {
	m.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		var yes bool
		if err := m.store.Pool().QueryRow(m.Context(), question).Scan(&yes); err != nil {
			m.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			m.Fatalf("never true: %s", question)
		}
	}
}

// River itself does not notify for an insertion that follows closely on another.
// Each task is picked up at once all the same.
func TestTasksInQuickSuccessionArePickedUpAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t, migrated.Fresh(t), river.Options{})
	begun := make(chan time.Time, 1)
	m.run(4, func(context.Context, queue.Task) error { begun <- time.Now(); return nil })
	var late int
	for i := range 40 {
		m.enqueue(encode(i))
		committed := time.Now()
		select {
		case at := <-begun:
			if at.Sub(committed) > 500*time.Millisecond {
				late++
			}
		case <-time.After(testTimeout):
			t.Fatalf("task %d was not picked up", i)
		}
	}
	if late > 2 { // a busy machine may be slow, but the fallback would be 40 times a second late
		t.Errorf("%d of 40 tasks were found by the fallback only", late)
	}
}

func TestAttemptsNeverOverflow(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{})
	m.enqueue(encode(0))
	pgtest.Exec(t, address, `UPDATE river_job SET attempt = 31998`)
	m.work(1)
	m.next(encode(0), 31999).end <- queue.RetryAfter(0, errors.New("sad"))
	m.next(encode(0), 31999).end <- nil
	m.drained()
}
