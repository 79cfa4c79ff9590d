package hostile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/need"
)

// roleVariable makes the program of these tests an examiner; its value says
// whether the sandbox of the examiner is on.
const roleVariable = "HOSTILE_TEST_ROLE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(roleVariable); mode != "" {
		if err := examineAll(sandbox.Mode(mode), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// needTools ends a test where there is no ffmpeg.
func needTools(t testing.TB) {
	t.Helper()
	need.Programs(t, "ffmpeg", "ffprobe")
}

// tool runs a program without a sandbox and returns what it printed.
func tool(name string, args ...string) ([]byte, error) {
	printed, _, err := toolSays(name, args...)
	return printed, err
}

// toolSays is tool with what the program said on stderr.
func toolSays(name string, args ...string) (printed []byte, said string, err error) {
	cmd := exec.Command(name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), stderr.String(), fmt.Errorf("%s: %w: %.500s", name, err, stderr.Bytes())
	}
	return stdout.Bytes(), stderr.String(), nil
}
