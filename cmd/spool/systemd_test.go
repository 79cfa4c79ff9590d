package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// maxExposure is what systemd-analyze may find at most, in tenths: 2.0 of 10.
const maxExposure = "20"

// Every unit is one that systemd takes without a complaint, and one that confines the service.
func TestSystemdUnits(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	units, err := filepath.Glob(filepath.Join(packaging, "systemd", "*.service"))
	if err != nil || len(units) < 2 {
		t.Fatalf("only %d units found (%v)", len(units), err)
	}
	for _, unit := range units {
		t.Run(filepath.Base(unit), func(t *testing.T) {
			t.Parallel()
			// The program is not installed here, and a unit that names none is faulty.
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			text := readPackaging(t, filepath.Join("systemd", filepath.Base(unit)))
			copied := filepath.Join(t.TempDir(), filepath.Base(unit))
			if err := os.WriteFile(copied, []byte(strings.ReplaceAll(text, "/usr/local/bin/spool serve", self)), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) string {
				out, err := exec.CommandContext(t.Context(), analyze, append(args, copied)...).CombinedOutput()
				if err != nil {
					t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			// Other units of this machine are not ours to judge.
			name, _, _ := strings.Cut(filepath.Base(unit), ".")
			for line := range strings.Lines(run("verify", "--man=no", "--recursive-errors=no")) {
				if strings.Contains(line, name) {
					t.Errorf("verify says %s", line)
				}
			}
			run("security", "--offline=true", "--no-pager", "--threshold="+maxExposure)
		})
	}
}
