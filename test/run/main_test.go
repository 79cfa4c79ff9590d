package main

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
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
