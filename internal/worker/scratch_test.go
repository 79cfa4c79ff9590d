package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/child"
)

// clearing returns a program that is ffmpeg, but first removes the folder that
// the file order names, if there is one.
func clearing(t *testing.T) (program, order string) {
	t.Helper()
	dir := t.TempDir()
	program, order = filepath.Join(dir, "ffmpeg"), filepath.Join(dir, "order")
	script := fmt.Sprintf("#!/bin/sh\n[ ! -e '%s' ] || rm -rf \"$(cat '%s')\"\nexec ffmpeg \"$@\"\n", order, order)
	child.WriteProgram(t, program, []byte(script))
	return program, order
}

// Somebody clears up what looks like old files, before a task and in the middle
// of one. That is no fault of the clip.
func TestScratchFolderThatGoesAway(t *testing.T) {
	t.Parallel()
	ffmpeg, order := clearing(t)
	b := newBench(t, ffmpeg)
	v := b.uploaded(noise(t))
	b.must(os.RemoveAll(b.work.scratch))
	b.must(b.do(queue.Inspect, v, 0))

	b.must(os.WriteFile(order, []byte(b.work.scratch), 0o600))
	for range maxFailures + 1 {
		if err := b.do(queue.Encode, v, 0); !errors.Is(err, queue.ErrWorkerUnhealthy) {
			t.Errorf("a task whose folder went away ends with %v; want a transient error", err)
		}
	}
	b.must(os.Remove(order))
	b.must(b.do(queue.Encode, v, 0))
	if got := b.video(v.ID); got.Status != video.Processing {
		t.Errorf("the video is %s: %v; want it in work", got.Status, got.Failure)
	}
}
