package api

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spool-video/spool/internal/limit"
)

func TestPollingGoesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSubscribers(nil, allValid, slog.New(slog.NewTextHandler(&log, nil))) // every poll panics
		if _, err := s.add(limit.Principal{}, "a key", "a video", stateUpdate{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*pollInterval/2)
		defer cancel()
		s.run(ctx)
		if n := strings.Count(log.String(), "panicked"); n != 3 || !strings.Contains(log.String(), "subscribers.go") {
			t.Errorf("%d panics logged; want 3, with the stack: %s", n, &log)
		}
	})
}
