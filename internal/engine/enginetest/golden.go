package enginetest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares arguments with testdata/name.golden, one on each line.
func Golden(t *testing.T, name string, args []string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got := strings.Join(args, "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("arguments differ from %s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}
