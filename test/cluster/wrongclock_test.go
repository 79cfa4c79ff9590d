package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aheadVariable is by how many seconds the clock of a process is ahead whose
// program withClock has chosen.
const aheadVariable = "SPOOL_TEST_CLOCK_AHEAD"

// withClock lets a process run on a machine whose clock is ahead, or behind.
// Programs in Go read the clock without asking the C library, so none that is put
// under them can change it: the program is built with another time package.
func withClock(t testing.TB, ahead time.Duration) option {
	t.Helper()
	binary := filepath.Join(lab.dir, "spool-wrong-clock")
	if err := lab.clips.Once(binary, func() error { return buildWithClock(binary) }); err != nil {
		t.Fatalf("build spool with another clock: %v", err)
	}
	return func(n *node) {
		n.binary = binary
		n.env[aheadVariable] = fmt.Sprint(int(ahead.Seconds()))
	}
}

// buildWithClock builds the program on a copy of the time package whose Now is
// as far ahead as the environment says. What measures how long something takes
// is left alone: no wrong clock changes that.
func buildWithClock(binary string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find the Go sources: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	changed, err := wrongTime(source)
	if err != nil {
		return err
	}
	copied := binary + "-time.go"
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: copied}})
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{copied: changed, binary + "-overlay.json": overlay} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	build := exec.Command("go", "build", "-overlay", binary+"-overlay.json", "-o", binary, "./cmd/spool")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// wrongTime changes the source of the time package.
func wrongTime(source []byte) ([]byte, error) {
	const (
		now   = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
		ahead = `
var secondsAhead = sync.OnceValue(func() (ahead int64) {
	text, _ := syscall.Getenv("` + aheadVariable + `")
	sign := int64(1)
	for _, c := range text {
		if c == '-' {
			sign = -1
			continue
		}
		ahead = 10*ahead + int64(c-'0')
	}
	return sign * ahead
})
`
		unsafe = "\t_ \"unsafe\" // for go:linkname\n"
	)
	for _, needed := range []string{now, unsafe} {
		if bytes.Count(source, []byte(needed)) != 1 {
			return nil, fmt.Errorf("this version of Go has another time package, without %q", needed)
		}
	}
	source = bytes.Replace(source, []byte(now), []byte(now+"\tsec += secondsAhead()\n"), 1)
	source = bytes.Replace(source, []byte(unsafe), []byte("\t\"sync\"\n\t\"syscall\"\n"+unsafe), 1)
	return append(source, ahead...), nil
}
