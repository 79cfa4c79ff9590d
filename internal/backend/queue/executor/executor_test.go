package executor

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

const someVideo video.ID = "0198c5b6-7d5e-7c3a-9b1e-000000000001"

var errBroken = errors.New("broken by the test")

func encode(number int) queue.Task {
	return queue.Task{Kind: queue.Encode, Video: someVideo, Number: number, Attempt: 1}
}

func newExecutor() *Executor {
	return New(slog.New(slog.DiscardHandler), func() float64 { return 0.5 })
}

// nothing is a start that finds nothing to do, and waits for the stop.
func nothing(e *Executor) func() (func(), error) {
	return func() (func(), error) { return func() { <-e.Stopping() }, nil }
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		n       int
		before  func(*Executor) error
		prepare error
		want    error // nil: any
	}{
		{"no tasks at all", 0, nil, nil, nil},
		{"a second start", 1, func(e *Executor) error { return e.Start(1, nothing(e)) }, nil, nil},
		{"a start after the stop", 1, func(e *Executor) error { return e.Stop(t.Context()) }, nil, queue.ErrStopping},
		{"a preparation that fails", 1, nil, errBroken, errBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor()
			if tt.before != nil {
				if err := tt.before(e); err != nil {
					t.Fatal(err)
				}
			}
			err := e.Start(tt.n, func() (func(), error) {
				return func() { t.Error("work was begun") }, tt.prepare
			})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("start returned %v, want an error like %v", err, tt.want)
			}
			if err := e.Stop(t.Context()); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
}

func TestStartMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	e := newExecutor()
	if err := e.Start(1, func() (func(), error) { return nil, errBroken }); !errors.Is(err, errBroken) {
		t.Fatalf("start returned %v, want %v", err, errBroken)
	}
	if err := e.Start(1, nothing(e)); err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// What prepare has begun must be undone, and only the work can do that.
func TestStopWhileItStarts(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]error{"and the start succeeds": nil, "and the start fails": errBroken} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor()
			undone := make(chan struct{})
			err := e.Start(1, func() (func(), error) {
				if err := e.Stop(t.Context()); err != nil {
					t.Errorf("stop: %v", err)
				}
				return func() { <-e.Stopping(); close(undone) }, fails
			})
			if fails != nil && !errors.Is(err, fails) || fails == nil && !errors.Is(err, queue.ErrStopping) {
				t.Errorf("start returned %v", err)
			}
			if fails == nil {
				<-undone
			}
			if err := e.Start(1, nothing(e)); !errors.Is(err, queue.ErrStopping) {
				t.Errorf("the next start returned %v, want %v", err, queue.ErrStopping)
			}
		})
	}
}

func TestStopWaitsForTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		err := e.Start(1, func() (func(), error) {
			return func() { <-e.Stopping(); time.Sleep(time.Minute) }, nil
		})
		if err != nil || e.IsStopping() {
			t.Fatalf("start returned %v, stopping %t", err, e.IsStopping())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := e.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("stop returned %v after %v, want the error of its context after 1s", err, time.Since(began))
		}
		if err := e.Stop(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("the second stop returned %v after %v, want it to wait for a minute", err, time.Since(began))
		}
	})
}
