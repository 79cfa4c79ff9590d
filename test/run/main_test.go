package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestALaneBeginsWhenAJobHasEnded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	note := func(what string) job {
		return job{name: "lint", what: what, check: func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
			return "", nil
		}}
	}
	first := note("first")
	first.then = lane{note("second"), note("third")}
	runAll(t.Context(), []lane{{first}}, newReport(io.Discard))
	if want := []string{"first", "second", "third"}; !slices.Equal(order, want) {
		t.Errorf("the jobs ran as %v; want %v", order, want)
	}
}

func TestJobsDoNotKnowSomebodysAccount(t *testing.T) {
	t.Setenv("AWS_PROFILE", "production")
	env := command(t.Context(), nil, []string{"AWS_REGION=test"}).Env
	if slices.Contains(env, "AWS_PROFILE=production") || !slices.Contains(env, "AWS_REGION=test") || !slices.Contains(env, "PATH="+os.Getenv("PATH")) {
		t.Errorf("a job runs with %q; want what it was given, and the caller's variables but those of AWS", env)
	}
}

func TestACancelledJobLeavesNothingBehind(t *testing.T) {
	t.Setenv("GO", "sh") // whose child says that it is there, and sleeps
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := command(ctx, []string{"-c", "(echo there; exec sleep 1000); true"}, nil)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("the job succeeded")
	}
	_ = out.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := lines.ReadByte(); err != io.EOF { // which comes when nobody can write any more
		t.Errorf("the child is still there: %v", err)
	}
}

func TestAJobThatStandsBackHasTheLowestPriority(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nice"); err != nil {
		t.Skip("there is no nice")
	}
	cmd := exec.CommandContext(t.Context(), "nice") // says how nice it is
	standBack(cmd)
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "19" {
		t.Errorf("it runs with the niceness %q, %v; want 19", out, err)
	}
}

// TestVetReadsOnlyTheLibrariesThatWeCall runs the script that stands before every tool.
func TestVetReadsOnlyTheLibrariesThatWeCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	for _, name := range []string{"vet", "compile"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho ran\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(script, []byte(toolScript([]string{"strings", "example.com/called", "modernc.org/sqlite"})), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, path string
		runs       bool
	}{
		{"vet", "", true}, // it is asked for its version
		{"vet", "net/http", true},
		{"vet", module + "internal/video", true},
		{"vet", module + "internal/video [" + module + "internal/video.test]", true},
		{"vet", "example.com/called", true},
		{"vet", "example.com/called/by-others", false},
		{"vet", "modernc.org/sqlite", false},
		{"vet", "modernc.org/sqlite/lib", false},
		{"compile", "modernc.org/sqlite/lib", true},
	} {
		cmd := exec.CommandContext(t.Context(), script, filepath.Join(dir, c.tool))
		cmd.Env = append(os.Environ(), "TOOLEXEC_IMPORTPATH="+c.path)
		if out, err := cmd.Output(); err != nil || (len(out) > 0) != c.runs {
			t.Errorf("%s of %q prints %q, %v; want it to run: %t", c.tool, c.path, out, err, c.runs)
		}
	}
}
