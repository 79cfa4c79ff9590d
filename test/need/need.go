// Package need skips or fails tests on a machine that lacks a tool, and skips slow
// tests unless there is time for them.
//
// A visitor without PostgreSQL or a browser can still run the other tests: those
// that need them are skipped, and make test lists them at its end. Where a green
// result has to mean that everything ran, SPOOL_TEST_REQUIRE_ALL=1 makes a missing
// tool a failure.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

const (
	requireAll = "SPOOL_TEST_REQUIRE_ALL"
	longRun    = "SPOOL_TEST_LONG"
)

// Missing ends a test because the machine lacks a tool. It skips the test, or
// fails it where everything is required.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	text := "missing: " + fmt.Sprintf(format, args...)
	if os.Getenv(requireAll) == "1" {
		t.Fatalf("%s (%s is set; scripts/install-deps.sh test installs the tools)", text, requireAll)
	}
	t.Skip(text)
}

// Programs ends a test when one of the programs is not installed.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		Program(t, name)
	}
}

// Program returns the path of the first of these programs that is installed. The
// names are alternatives, and may be paths.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "%s", names[0])
	return ""
}

// Long reports whether tests may take minutes.
func Long() bool { return os.Getenv(longRun) == "1" }

// TimeFor skips a test that takes long unless there is time for it. why says how
// long it takes, or what stands for it in a usual run.
func TimeFor(t testing.TB, why string) {
	t.Helper()
	if !Long() {
		t.Skipf("long: %s (make test-long runs it)", why)
	}
}
