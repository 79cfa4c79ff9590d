package worker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// A task goes on when its progress cannot be written, also if that panics.
func TestHeartbeatGoesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := &Worker{log: slog.New(slog.NewTextHandler(&log, nil))} // which has nobody to report to
		ctx, report, stop := w.heartbeat(t.Context(), queue.Task{})
		for part := range 3 {
			report(float64(part+1) / 10)
			time.Sleep(2 * slowBeat)
		}
		if ctx.Err() != nil {
			t.Error("the task was cancelled")
		}
		stop()
		if n := strings.Count(log.String(), "progress of a task panicked"); n != 3 || !strings.Contains(log.String(), "heartbeat.go") {
			t.Errorf("%d panics logged; want 3, with the stack: %s", n, &log)
		}
	})
}
