package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// Videos that were made in the same minute share the beginning of their ids.
func TestWorkersNameTheirVideosWhole(t *testing.T) {
	t.Parallel()
	const film = "01a1e0c9-7ae3-7a61-bfbc-3b31fd008b3f"
	run := queue.RunningTask{Task: queue.Task{Kind: queue.Encode, Video: film, Number: 3}, For: 2 * time.Second}
	got := strings.Join(viewWorker(queue.Worker{Running: []queue.RunningTask{run}}).taskNames(), ", ")
	if want := "encode 3 of " + film + " (2 s)"; got != want {
		t.Errorf("works on %q, want %q", got, want)
	}
}
