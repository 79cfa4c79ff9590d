package e2e

import (
	"slices"
	"testing"
	"time"
)

// A server has the next ffprobe started while it has nothing else to do, and takes it along when it dies.
func TestAProbeIsStartedAhead(t *testing.T) {
	t.Parallel()
	oneBackend(t, "where a probe runs does not depend on the storage")
	s := start(t, withEnv("SPOOL_PROBE_AHEAD", ""))
	waits := func() bool { return s.runs("ffprobe") }
	s.until("an ffprobe that waits", readyTimeout, waits)
	first := children(s.dataDir)

	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, tinyClip))
	s.waitReady(u)
	s.until("another one that waits", readyTimeout, func() bool {
		return waits() && len(children(s.dataDir)) == 1 && !slices.Equal(children(s.dataDir), first)
	})
	s.kill()
	s.wantNoChildren(time.Minute)
}
