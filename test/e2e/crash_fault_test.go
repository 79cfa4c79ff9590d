package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// tries is how often a step may fail for an unknown reason.
const tries = 3

func TestASourceThatIsGoneFailsItsVideo(t *testing.T) {
	usuallyOneBackend(t, "the same rules give up there")
	t.Parallel()
	for kind, pattern := range map[string]string{"inspect": inspectRun, "encode": encodeRun} {
		t.Run("before "+kind, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, pattern, hold)
			s := start(t, g.tools(), withEnv("SPOOL_WORKERS", "1"))
			u := s.submit(tinyVideo, clip(t, smallClip))
			s.until("the task to run", readyTimeout, func() bool { return g.runs() == 1 })
			s.kill()
			if err := os.RemoveAll(filepath.Join(s.objectsDir, "source", u.ID)); err != nil {
				t.Fatal(err)
			}
			g.open()
			s.restart()
			s.wantFailure(u, "internal", "no longer in the storage")
			s.until("its work to be removed", tidyTimeout, func() bool { return s.idle() && len(s.workFiles()) == 0 })
		})
	}
}

// workFiles lists what is stored for work that is under way.
func (s *server) workFiles() []string {
	s.t.Helper()
	var all []string
	for _, file := range s.files() {
		if strings.HasPrefix(file, "objects/work/") || strings.HasPrefix(file, "scratch/") {
			all = append(all, file)
		}
	}
	return all
}

// wantFailure waits until a video has failed with this code, and with a sentence
// that contains the words and no path.
func (s *server) wantFailure(u upload, code, words string) {
	s.t.Helper()
	w := s.waitFinished(u)
	if w.Status != "fail" || w.Failure == nil {
		s.t.Fatalf("video is %s, %+v; want fail with %s", w.Status, w.Failure, code)
	}
	if w.Failure.Code != code || !strings.Contains(w.Failure.Message, words) || strings.Contains(w.Failure.Message, s.dataDir) {
		s.t.Errorf("the failure is %+v; want %s with a sentence about %q", *w.Failure, code, words)
	}
	for name, r := range w.Resolutions {
		if r.Status != "fail" || r.Failure == nil || r.Failure.Code != code {
			s.t.Errorf("%s is %s, %+v; want fail with %s", name, r.Status, r.Failure, code)
		}
	}
}

// What was given up is made after all when its owner asks for it and the fault is
// gone.
func TestAnEncoderThatFailsForNoKnownReasonIsGivenUp(t *testing.T) {
	t.Parallel()
	oneBackend(t, "the worker counts, and queuetest covers attempts on both queues")
	g := newGate(t, encodeRun, exitOne)
	s := start(t, g.tools())
	u := s.submit(tinyVideo, clip(t, smallClip))
	s.wantFailure(u, "internal", "failed several times")
	if n := g.runs(); n != tries {
		t.Errorf("the encoder ran %d times; want %d", n, tries)
	}
	s.until("the work to be removed", tidyTimeout, func() bool { return s.idle() && len(s.workFiles()) == 0 })

	g.open()
	for name, r := range s.read(u).Resolutions {
		now := s.retry(r.ID)
		if got := now.Resolutions[name]; now.Status != "processing" || got.Status != "processing" || got.Failure != nil {
			t.Errorf("%s that is tried again is %s, %+v, of a video that is %s; want both processing", name, got.Status, got.Failure, now.Status)
		}
	}
	wantFrames(t, s.waitReady(u), smallFrames)
	s.until("the work to be removed", tidyTimeout, func() bool { return s.idle() && len(s.workFiles()) == 0 })
}

func TestOptionalTasksThatFailDoNotCostTheVideo(t *testing.T) {
	oneBackend(t, "the same rules give up there, and TestAnEncoderThatFailsForNoKnownReasonIsGivenUp gives up")
	t.Parallel()
	for kind, pattern := range map[string]string{"audio": audioRun, "thumbnails": thumbnailsRun, "poster": posterRun} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "thumbnails" {
				need.TimeFor(t, "the poster stands for it")
			}
			g := newGate(t, pattern, exitOne)
			s := start(t, g.tools())
			w := s.waitReady(s.submit(tinyVideo, clip(t, smallClip)))
			wantFrames(t, w, smallFrames)
			if (w.PosterURL == "") != (kind == "poster") {
				t.Errorf("the poster is told as %q", w.PosterURL)
			}
			s.until("the work to be removed", tidyTimeout, func() bool { return s.idle() && len(s.workFiles()) == 0 })
		})
	}
}
