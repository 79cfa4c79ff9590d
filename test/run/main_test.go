package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
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
