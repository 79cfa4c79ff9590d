package ffmpeg

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// TestOutOfTime wants to know a run that has used up its processor time by its
// end, which differs with what ffmpeg was doing.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	run := sandboxed(t)
	tests := []struct {
		name, picture string
	}{
		{"small frames, which leave time to end in order", "testsrc2=size=64x64"},
		{"large frames, which do not", "testsrc2=size=640x360"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := run.run(t.Context(), process{
				bin: run.ffmpeg,
				args: []string{"-nostdin", "-v", "error", "-f", "lavfi", "-i", tt.picture, "-threads", "2", "-c:v", "libx264", "-preset", "slow",
					"-f", "mp4", FileURL(filepath.Join(dir, "endless.mp4"))},
				policy: sandbox.Policy{WriteDir: dir, CPU: time.Second},
				stdout: func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err },
			})
			if !errors.Is(err, ErrTimeLimit) {
				t.Errorf("run = %v; want ErrTimeLimit", err)
			}
		})
	}
}
