package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDiskOfAWorkerIsFull fills the disk of a worker. Its tasks wait until
// another worker takes them, or there is room again. A worker that can do
// nothing is always free for the next task: it must not take them all.
func TestDiskOfAWorkerIsFull(t *testing.T) {
	leaveOut(t, "it needs a file system of its own")
	t.Parallel()
	dir := smallDisk(t)
	f := newFleet(t)
	f.api()
	full := f.worker(withDir(filepath.Join(dir, "data")))
	free, filled := fill(t, dir), time.Now()
	films := f.begin(f.enjoy(patience), feature, short)
	until(t, "the worker to find its disk full", patience, func() bool {
		return f.count(`SELECT count(*) FROM river_job WHERE attempt > 0 AND state <> 'running'`) > 0
	})
	time.Sleep(2 * time.Second)
	if n := f.count(`SELECT count(*) FROM video WHERE status = 'ready'`); n > 0 {
		t.Fatalf("%d films are ready; the disk is not full", n)
	}
	f.worker()
	began := time.Now()
	if err := films.wait(); err != nil {
		t.Fatal(err)
	}
	tries, known := strings.Count(full.log.from(0), "a task failed and will run again"), time.Since(filled)
	t.Logf("all is ready %.1f s after another worker came; the full one failed %d times in %.0f s", time.Since(began).Seconds(), tries, known.Seconds())
	if limit := 6 + int(known/(10*time.Second)); tries > limit {
		t.Errorf("the full worker took %d tasks away from the other in %.0f s; want %d at most", tries, known.Seconds(), limit)
	}
	free()
	f.finish(films)
	f.wantWork(full)
}

// smallDisk mounts a file system of 48 MiB.
func smallDisk(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("this machine does not let tests mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill takes all the room that is left below dir, and returns how to give it
// back.
func fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v; want it to be full", err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
