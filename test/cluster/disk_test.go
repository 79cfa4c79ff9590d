package cluster

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// TestDiskOfAWorkerIsFull fills the disk of a worker. Its tasks wait until
// another worker takes them, or there is room again. A worker that can do
// nothing is always free for the next task: it must not take them all.
func TestDiskOfAWorkerIsFull(t *testing.T) {
	need.TimeFor(t, "it needs a file system of its own")
	t.Parallel()
	dir := rig.SmallDisk(t)
	f := newFleet(t)
	f.api()
	full := f.worker(withDir(filepath.Join(dir, "data")))
	free, filled := rig.Fill(t, dir), time.Now()
	films := f.begin(f.withTimeout(waitLimit), feature, short)
	until(t, "the worker to find its disk full", waitLimit, func() bool {
		return f.count(`SELECT count(*) FROM river_job WHERE attempt > 0 AND state NOT IN ('running', 'completed')`) > 0
	})
	time.Sleep(2 * time.Second)
	if n := f.count(`SELECT count(*) FROM video WHERE status = 'ready'`); n > 0 {
		t.Fatalf("%d videos are ready; the disk is not full", n)
	}
	f.worker()
	began := time.Now()
	if err := films.wait(); err != nil {
		t.Fatal(err)
	}
	tries, known := strings.Count(full.log.String(), "a task failed and will run again"), time.Since(filled)
	t.Logf("all is ready %.1f s after another worker came; the full one failed %d times in %.0f s", time.Since(began).Seconds(), tries, known.Seconds())
	if limit := 6 + int(known/(10*time.Second)); tries > limit {
		t.Errorf("the full worker took %d tasks away from the other in %.0f s; want %d at most", tries, known.Seconds(), limit)
	}
	free()
	f.finish(films)
	f.wantWork(full)
}
