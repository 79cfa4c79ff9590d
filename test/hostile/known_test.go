package hostile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/footage"
)

// TestTheKnownExploit examines the file that made this kind of attack known: an
// AVI with a playlist that reads /etc/passwd.
func TestTheKnownExploit(t *testing.T) {
	needTools(t)
	t.Parallel()
	file, err := os.ReadFile(footage.Path(t, "variety", "hostile_hls_in_avi_local_file_read.avi"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := newJob(t.TempDir(), file)
	if err != nil {
		t.Fatal(err)
	}
	v := startExaminer(t, sandbox.On).mustExamine(t, o)
	if !slices.Contains([]string{NotAVideo, noVideo, corrupt}, v.End) || len(v.Files) > 0 {
		t.Errorf("ends with %s and %q; want it refused", v.End, v.Files)
	}
	checkLimits(t, v, Sample{})
}

// TestBombsWorkElsewhere gives a bomb to an ffprobe without our options and
// limits: one that does not go off there would prove nothing.
func TestBombsWorkElsewhere(t *testing.T) {
	needTools(t)
	t.Parallel()
	all := Bombs()
	bomb := all[slices.IndexFunc(all, func(s Sample) bool { return s.Name == "8 tracks of 10 million samples each" })]
	path := filepath.Join(t.TempDir(), "bomb.mp4")
	if err := os.WriteFile(path, bomb.Make(), 0o600); err != nil {
		t.Fatal(err)
	}
	// A limit of this machine's own, in KiB: it is enough to see that ours is needed.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -v 1500000 && exec ffprobe -v quiet -show_streams "$1"`, "sh", path)
	err := cmd.Run()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatalf("nobody knows how much memory ffprobe took (%v)", err)
	}
	if got := usage.Maxrss << 10; got < bombMemory {
		t.Errorf("the bomb took %d MiB where nothing limits it: it proves nothing", got>>20)
	}
}
