package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func nothing(context.Context) error { return nil }

func TestTasksThatDoNotStartLeaveNothingRunning(t *testing.T) {
	t.Parallel()
	b := &background{
		startTasks: func(context.Context) error { return errors.New("no table") },
		maintain:   func(context.Context) { t.Error("the maintenance runs on a database that is being closed") },
	}
	if err := b.start(t.Context()); err == nil {
		t.Error("the start succeeded")
	}
}

func TestTasksAndMaintenanceEndAtOnce(t *testing.T) {
	t.Parallel()
	cleaned := make(chan struct{})
	b := &background{
		startTasks: nothing,
		// These tasks end after the maintenance: it must have been asked already.
		stopTasks: func(ctx context.Context) error {
			select {
			case <-cleaned:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		maintain: func(ctx context.Context) { <-ctx.Done(); close(cleaned) },
	}
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.stop(ctx); err != nil {
		t.Errorf("the stop ended with %v", err)
	}
}

func TestMaintenanceThatDoesNotEndIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	release, asked := make(chan struct{}), false
	defer close(release)
	b := &background{
		startTasks: nothing,
		stopTasks:  func(context.Context) error { asked = true; return nil },
		maintain:   func(context.Context) { <-release },
	}
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.stop(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "maintenance") {
		t.Errorf("the stop ended with %v, want it to name the maintenance", err)
	}
	if !asked {
		t.Error("the tasks were not asked to stop")
	}
}
