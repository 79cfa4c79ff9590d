//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAFileThatMayBeWritten lets a program write one file, and neither read it nor make others.
func TestAFileThatMayBeWritten(t *testing.T) {
	t.Parallel()
	s, j, dd := openSandbox(t), newJob(t), find(t, "dd")
	given, other := filepath.Join(j.out, "given"), filepath.Join(j.out, "other")
	for _, path := range []string{given, j.source} {
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	may := Policy{Read: []string{filepath.Dir(j.source)}, Write: []string{given}}
	for _, tt := range []struct {
		from, to string
		works    bool
	}{{j.source, given, true}, {j.source, other, false}, {given, "/dev/null", false}, {j.source, j.source, false}} {
		_, stderr, err := run(s.Command(t.Context(), may, dd, "conv=notrunc", "if="+tt.from, "of="+tt.to))
		if (err == nil) != tt.works {
			t.Errorf("copying %s to %s: %v, %s; want it to work: %t", tt.from, tt.to, err, stderr, tt.works)
		}
	}
}
