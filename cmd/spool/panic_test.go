package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/metrics"
)

func TestPanicInTheBackgroundDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	b := &background{
		startTasks: nothing, stopTasks: nothing,
		maintain: func(context.Context) { panic("meant by the test") },
	}
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.stop(ctx); err == nil || !strings.Contains(err.Error(), "meant by the test") {
		t.Errorf("the stop ended with %v; want the panic", err)
	}
}

func TestPanicWhileVideosAreFollowedDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	svc := &service{follow: func(context.Context) { panic("meant by the test") }}
	s := newServer(svc, metrics.New("test"), slog.New(slog.NewTextHandler(&log, nil)), stopTimeouts{}, nil)
	s.follow(t.Context())()
	if !strings.Contains(log.String(), "meant by the test") {
		t.Errorf("the panic was not logged: %s", &log)
	}
}
