package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// script writes the completion of a shell into a file.
func script(t *testing.T, shell string) string {
	t.Helper()
	p, stdout, stderr := newProcess(nil, nil)
	if code := p.run(t.Context(), []string{"completion", shell}); code != exitOK {
		t.Fatalf("completion %s exits with %d and says %s", shell, code, stderr)
	}
	path := filepath.Join(t.TempDir(), "spool")
	if err := os.WriteFile(path, stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash := need.Program(t, "bash")
	path := script(t, "bash")
	for typed, want := range map[string]string{
		"spool up":                    "upload",
		"spool keys ":                 "create list revoke",
		"spool upload film.mov --wai": "--wait",
		"spool serve --ffp":           "--ffprobe",
		"spool completion z":          "zsh",
		"spool keys create --na":      "--name",
		"spool --ver":                 "--version",
	} {
		words := strings.Split(typed, " ")
		ask := `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _spool; echo "${COMPREPLY[*]}"`
		out, err := exec.CommandContext(t.Context(), bash, append([]string{"-euc", ask, path}, words...)...).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q is completed to %q, %v; want %q", typed, got, err, want)
		}
	}
}

// Other shells are not on every machine; at least their scripts name everything.
func TestCompletionsNameEveryCommand(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		path := script(t, shell)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(newTestParser(t).Model.Node, nil) {
			if name := line[len(line)-1]; !strings.Contains(string(text), name) {
				t.Errorf("%s does not know %s", shell, name)
			}
		}
		if program, err := exec.LookPath(shell); err == nil {
			if out, err := exec.CommandContext(t.Context(), program, "-n", path).CombinedOutput(); err != nil {
				t.Errorf("%s does not read its script: %v\n%s", shell, err, out)
			}
		}
	}
	p, _, stderr := newProcess(nil, nil)
	if code := p.run(t.Context(), []string{"completion", "cmd"}); code != exitUsage || !strings.Contains(stderr.String(), "bash") {
		t.Errorf("completion cmd exits with %d and says %q", code, stderr)
	}
}
