package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestAnFFprobeWaitsForTheNextUpload wants one that is started already to look into an upload, another to
// take its place, and none to outlive the server.
func TestAnFFprobeWaitsForTheNextUpload(t *testing.T) {
	oneBackend(t, "the engine knows nothing of the back end")
	t.Parallel()
	s := start(t)
	waiting := func() []string {
		return slices.DeleteFunc(children(s.dataDir), func(p string) bool { return slices.Contains(working(s.dataDir), p) })
	}
	wait := func() {
		t.Helper()
		s.until("an ffprobe to wait", readyTimeout, func() bool { return len(waiting()) == 1 })
	}
	wait()
	began := time.Now()
	w := s.publish(tinyVideo, clip(t, tinyClip))
	s.wantVideo(w, tinyFrames)
	looks := slices.DeleteFunc(s.report(w.ID).Runs, func(r childRun) bool { return r.Task != "inspect" })
	if len(looks) != 1 || looks[0].Program != "ffprobe" || !slices.Contains(looks[0].Arguments, "-o") {
		t.Errorf("the upload was looked into by %+v; want the one that waited", looks)
	} else if looks[0].StartedAt.Before(began.Add(-time.Second)) || looks[0].Result != "ok" {
		t.Errorf("its run is told as %+v; want its time to count from the upload", looks[0])
	}
	wait()
	s.stop()
	s.wantNoChildren(time.Minute)
	if _, err := os.Stat(filepath.Join(s.dataDir, "standby")); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}
