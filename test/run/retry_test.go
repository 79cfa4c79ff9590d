package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A failed test is run once more by itself. One that passes then is named, and the
// others fail the run.
func TestFailedTestsRunOnceMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tests    string
		ok       bool
		unsteady string
	}{
		{"TestSecondTry", true, "test/run/testdata/unsteady TestSecondTry"},
		{"TestNever", false, ""},
		{"TestSecondTry|TestNever", false, ""},
		{"TestPanic", false, ""},
	} {
		t.Run(c.tests, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := newReport(&out)
			env := append(usual, "UNSTEADY_FILE="+filepath.Join(t.TempDir(), "made"))
			runAll(t.Context(), []lane{{test("plain", env, []string{"./testdata/unsteady"}, "-count=1", "-run="+c.tests)}}, r)
			if len(r.failures) != 1 {
				t.Fatalf("%d packages failed at first; want 1:\n%s", len(r.failures), out.String())
			}
			r.retry(t.Context())
			if ok := r.finish(time.Second); ok != c.ok {
				t.Errorf("the run is a success: %t; want %t\n%s", ok, c.ok, out.String())
			}
			if got := strings.Join(r.unsteady, ", "); got != c.unsteady {
				t.Errorf("unsteady: %q; want %q", got, c.unsteady)
			}
			if c.unsteady != "" && !strings.Contains(out.String(), "the file is missing") {
				t.Errorf("what the test printed at first is missing in\n%s", out.String())
			}
		})
	}
}
