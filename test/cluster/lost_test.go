package cluster

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// TestLostTasksAreFound takes tasks out of the queue, before anybody works on the
// video and in the middle of it, as a hand in the database might. The video is made
// all the same.
func TestLostTasksAreFound(t *testing.T) {
	need.TimeFor(t, "TestLostTasksAreQueuedAgain of package pipeline stands for it")
	t.Parallel()
	f := newFleet(t)
	f.api()
	ctx := f.withTimeout(waitLimit)
	o := f.newOrder(feature)
	if err := o.submit(ctx); err != nil {
		t.Fatal(err)
	}
	f.exec(`DELETE FROM river_job`)
	f.rescue()
	f.worker()
	until(t, "a part of the film", waitLimit, func() bool { return f.steps("encode") > 0 })
	f.exec(`DELETE FROM river_job WHERE state <> 'running' AND finalized_at IS NULL`)
	f.rescue()
	if err := o.await(ctx); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(f.apis[0].log.String(), "a task was lost"); n < 2 {
		t.Errorf("the log tells of %d lost tasks; want those of both times", n)
	}
	f.wantRest([]*order{o})
	f.wantWholeVideos([]*order{o})
}

// rescue has the fleet look after the videos at work now rather than within ten
// minutes, and returns when it has.
func (f *fleet) rescue() {
	f.t.Helper()
	f.exec(`UPDATE periodic_job SET begun_at = 0 WHERE name IN ('reconcile', 'sweep')`)
	f.apis[0].stop()
	f.apis[0].start()
	until(f.t, "the rescue", waitLimit, func() bool {
		return f.count(`SELECT count(*) FROM periodic_job WHERE name = 'sweep' AND begun_at > 0`) == 1
	})
}
