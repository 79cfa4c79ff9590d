package river_test

import (
	"context"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
)

// Tasks that publish large files keep a connection each, and so do those that
// wait for the lock of such a video. When they have all connections of the
// process, it is as alive as before.
func TestWorkerWhoseTasksHaveAllConnectionsIsAlive(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	o := river.Options{Heartbeat: 300 * time.Millisecond, LostAfter: 1500 * time.Millisecond}
	busy, idle := newMachine(t, address+"&pool_max_conns=2", o), newMachine(t, address, o)
	holding, release := make(chan context.Context, 2), make(chan struct{})
	busy.run(2, func(ctx context.Context, _ queue.Task) error {
		return busy.store.InTx(ctx, func(*store.Tx) error {
			holding <- ctx
			<-release
			return nil
		})
	})
	idle.enqueue(encode(0), encode(1))
	first, second := <-holding, <-holding
	idle.work(1)
	select {
	case a := <-idle.begun:
		t.Errorf("%s was given to another worker", a)
		a.end <- nil
	case <-time.After(3 * o.LostAfter):
	}
	if first.Err() != nil || second.Err() != nil {
		t.Errorf("the tasks were stopped: %v, %v", context.Cause(first), context.Cause(second))
	}
	close(release)
	idle.drained()
}
