// Package enginetest has what the tests of several engine packages share: a
// sandboxed ffmpeg, the folders of a task, short clips, and golden files.
package enginetest

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
)

// NewRunner returns a runner whose children are sandboxed.
func NewRunner(t testing.TB) *ffmpeg.Runner {
	t.Helper()
	box, err := sandbox.Open(sandbox.On, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	run, err := ffmpeg.New(t.Context(), ffmpeg.Config{Sandbox: box})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// NewJob makes the folders of a task. The source is linked under a name that
// says nothing, as in a worker.
func NewJob(t testing.TB, source string) ffmpeg.Job {
	t.Helper()
	dir := t.TempDir()
	job := ffmpeg.Job{Source: filepath.Join(dir, "source"), OutDir: filepath.Join(dir, "out")}
	if err := os.Symlink(source, job.Source); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(job.OutDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return job
}

// Clip makes a short video with ffmpeg. args follow the inputs: a test pattern
// and a tone.
func Clip(t testing.TB, name, pattern string, args ...string) string {
	t.Helper()
	i := slices.Index(args, Turn)
	if i < 0 {
		return Clips(t, pattern, Output{name, args})[0]
	}
	path := Clips(t, pattern, Output{name, args[:i]})[0]
	turned := filepath.Join(t.TempDir(), name)
	// ffmpeg 5.1 writes a display matrix only when it copies.
	RunFFmpeg(t, "-v", "error", "-nostdin", "-i", path, "-c", "copy", "-metadata:s:v", "rotate="+args[i+1], turned)
	return turned
}

// Clips makes several clips of one test pattern and a tone.
func Clips(t testing.TB, pattern string, clips ...Output) []string {
	t.Helper()
	for i, c := range clips {
		if !slices.Contains(c.Args, "-c:v") && slices.Contains([]string{".mp4", ".mkv", ".mov", ".h264"}, filepath.Ext(c.Name)) {
			// B-frames as x264 has them otherwise, for half of the time.
			clips[i].Args = append([]string{"-preset", "ultrafast", "-bf", "3"}, c.Args...)
		}
	}
	return Outputs(t, []string{"-f", "lavfi", "-i", pattern, "-f", "lavfi", "-i", "sine=r=44100:d=2"}, clips...)
}

// Output is a file that ffmpeg makes, and the options for it.
type Output struct {
	Name string
	Args []string
}

// Outputs has one ffmpeg make files of the same inputs, each in a folder of its own: it takes longer to start
// than to make a clip.
func Outputs(t testing.TB, inputs []string, outputs ...Output) (paths []string) {
	t.Helper()
	args := append([]string{"-v", "error", "-nostdin"}, inputs...)
	for _, o := range outputs {
		path := filepath.Join(t.TempDir(), o.Name)
		args, paths = append(append(args, o.Args...), path), append(paths, path)
	}
	RunFFmpeg(t, args...)
	return paths
}

// Turn as an option of a clip asks for a display matrix of that many degrees,
// counter-clockwise.
const Turn = "turn"

// RunFFmpeg runs the real ffmpeg, outside of any sandbox.
func RunFFmpeg(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", args...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %q: %v\n%s", args, err, out)
	}
}
