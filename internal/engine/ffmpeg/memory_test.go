package ffmpeg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/test/child"
)

// notes is a Memory of one process.
type notes map[string][]byte

func (n notes) Recall(what string) (found []byte, known bool) {
	found, known = n[what]
	return found, known
}

func (n notes) Keep(what string, found []byte) { n[what] = found }

func TestAStartKnowsWhatAnEarlierOneFoundOut(t *testing.T) {
	t.Parallel()
	memory, runs := notes{}, filepath.Join(t.TempDir(), "runs")
	program := child.Script(t, "echo run >> "+runs+"\necho ' libx264 aac mjpeg '\necho 'ffmpeg version 7.1 Copyright' >&2\n")
	for range 2 {
		r, err := New(t.Context(), Config{FFmpeg: program, Memory: memory})
		if err != nil || r.Version() != "7.1" || !r.HasEncoder("aac") {
			t.Fatalf("New = %+v, %v; want version 7.1 with its encoders", r, err)
		}
	}
	if text, err := os.ReadFile(runs); err != nil || string(text) != "run\n" {
		t.Errorf("ffmpeg was run: %q, %v; want once", text, err)
	}
	broken := notes{}
	if _, err := New(t.Context(), Config{FFmpeg: child.Script(t, "exit 1\n"), Memory: broken}); err == nil || len(broken) > 0 {
		t.Errorf("New with a program that fails = %v, and %d notes; want an error and none", err, len(broken))
	}
}
