package river_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// The clock of the database goes back by an hour: it was set right, or a standby
// with another clock took over. What it wrote before then lies in the future, and
// must not be waited for.
func TestClockOfTheDatabaseGoesBack(t *testing.T) {
	t.Parallel()
	const back = `UPDATE queue_worker SET seen_at = seen_at + interval '1 hour', steady_at = steady_at + interval '1 hour',
		started_at = started_at + interval '1 hour';
		UPDATE river_job SET attempted_at = attempted_at + interval '1 hour';
		UPDATE river_job SET scheduled_at = scheduled_at + interval '1 hour' WHERE state = 'pending'`
	o := river.Options{Heartbeat: 100 * time.Millisecond, LostAfter: 2 * time.Second}

	t.Run("under tasks of a dead worker", func(t *testing.T) {
		t.Parallel()
		address := migrated.Fresh(t)
		dead, alive := newMachine(t, address, river.Options{Heartbeat: time.Hour}), newMachine(t, address, o)
		dead.work(1)
		alive.enqueue(encode(0))
		old := dead.next(encode(0), 1)
		alive.work(1)
		pgtest.Exec(t, address, back)
		alive.next(encode(0), 1).end <- nil
		alive.drained()
		old.end <- nil
	})
	t.Run("under a living worker", func(t *testing.T) {
		t.Parallel()
		address := migrated.Fresh(t)
		a, b := newMachine(t, address, o), newMachine(t, address, o)
		a.work(1)
		a.enqueue(encode(0))
		run := a.next(encode(0), 1)
		b.work(1)
		pgtest.Exec(t, address, back)
		time.Sleep(2 * o.LostAfter)
		if run.ctx.Err() != nil || len(b.begun) > 0 {
			t.Error("the task was given to another worker")
		}
		run.end <- nil
		a.drained()
	})
	t.Run("under a task that waits after a failure", func(t *testing.T) {
		t.Parallel()
		address := migrated.Fresh(t)
		m := newMachine(t, address, o)
		m.work(1)
		m.enqueue(encode(0))
		m.next(encode(0), 1).end <- errors.New("sad")
		m.waitFor(`SELECT count(*) = 1 FROM river_job WHERE state = 'pending'`)
		pgtest.Exec(t, address, back)
		m.next(encode(0), 2).end <- nil
		m.drained()
	})
}
