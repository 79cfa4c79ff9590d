package e2e

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// TestALargeUploadNeedsLittleMemory sends a file that no buffer could hold, and
// has it verified and pinned.
func TestALargeUploadNeedsLittleMemory(t *testing.T) {
	usuallyOneBackend(t, "the file goes to the bucket, past the server")
	t.Parallel()
	const limit = 100 << 20
	length := int64(256 << 20)
	if need.Long() {
		length = 2 << 30
	}
	s := start(t)
	u := s.create(newVideo{Filename: "large.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	const head = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
	before := objectBytes(s.objectsDir) // a bucket has the marker of its owner
	began := time.Now()
	s.putBody(u, sized{io.MultiReader(strings.NewReader(head), io.LimitReader(rig.Zeros{}, length-int64(len(head)))), length})
	took := time.Since(began)
	if got := objectBytes(s.objectsDir) - before; got != length {
		t.Errorf("%d bytes were stored; want %d", got, length)
	}
	s.complete(u.ID)
	s.deleteVideo(u.ID)
	peak := peakMemory(t, s.cmd.Process.Pid)
	t.Logf("%d MiB in %s with a peak of %d MiB", length>>20, took.Round(time.Millisecond), peak>>20)
	if peak > limit {
		t.Errorf("the server took %d MiB of memory; want at most %d", peak>>20, limit>>20)
	}
	s.wantTidy()
}

// peakMemory returns the most memory that a process has ever held, in bytes.
func peakMemory(t testing.TB, pid int) int64 {
	t.Helper()
	return processMemory(t, pid, "VmHWM:")
}

// processMemory returns a line of what the system says of the memory of a process, in bytes.
func processMemory(t testing.TB, pid int, name string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			if err != nil {
				t.Fatalf("read %q: %v", line, err)
			}
			return kib << 10
		}
	}
	t.Fatal("the kernel does not tell a process's peak of memory")
	return 0
}
