package river_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// A worker swaps the task that it fetched for a more urgent one, and the
// answer to the commit is lost: it does not know which of the two it has. Neither
// may be ended instead of the other.
func TestSwapWhoseCommitIsLostLosesNoTask(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	urgent, later := queue.Task{Kind: queue.Inspect, Video: someVideo}, encode(0)
	later.Priority = 5
	api := newMachine(t, address, river.Options{})
	api.enqueue(later)
	api.enqueue(urgent)

	proxy := pgtest.NewProxy(t, address)
	worker := newMachine(t, proxy.URL(), river.Options{Heartbeat: 200 * time.Millisecond, LostAfter: 15 * time.Second})
	lost := proxy.LoseAnswer("commit\x00") // and not "read committed"
	worker.work(1)
	worker.next(urgent, 1).end <- nil
	worker.next(later, 1).end <- nil
	api.drained()
	select {
	case <-lost:
	default:
		t.Error("nothing was swapped")
	}
}
