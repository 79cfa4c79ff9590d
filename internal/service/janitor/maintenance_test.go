package janitor_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/service/janitor"
)

// A panic in one job must end neither the process nor the other jobs.
func TestMaintenanceGoesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &janitor.Maintenance{Log: slog.New(slog.NewTextHandler(&log, nil))} // without its parts, every job panics
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		m.Run(ctx)
		if n := strings.Count(log.String(), "maintenance panicked"); n != 7 { // three jobs at once, and two twice more
			t.Errorf("%d jobs panicked; want 7: %s", n, &log)
		}
		if !strings.Contains(log.String(), "maintenance.go") {
			t.Errorf("the log has no stack: %s", &log)
		}
	})
}
