package ffmpeg

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/child"
)

// TestTooMuch has runs that take more than they may: with the real ffmpeg where
// that can be made to, and with a script where only another program would.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	run, dir := sandboxed(t), t.TempDir()
	hoard := child.Script(t, "i=0; while [ $i -lt 300 ]; do : > "+dir+"/$i; i=$((i+1)); done; exec sleep 600\n")
	tests := []struct {
		name string
		run  *Runner
		bin  string
		args []string
		may  sandbox.Policy
		want error
	}{
		{"threads", run, run.ffmpeg, []string{"-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:duration=1", "-c:v", "libx264", "-threads", "16", "-f", "null", "-"},
			sandbox.Policy{Threads: 9}, ErrThreads},
		{"files", &Runner{sandbox: new(sandbox.Sandbox)}, hoard, nil, sandbox.Policy{WriteDir: dir, Files: 100}, ErrTooBig},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.run.run(t.Context(), process{
				bin: tt.bin, args: tt.args, policy: tt.may,
				stdout: func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err },
			})
			if !errors.Is(err, tt.want) || MachineError(err, "") == nil {
				t.Errorf("run = %v; want %v, which is not an ordinary end", err, tt.want)
			}
		})
	}
}

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
