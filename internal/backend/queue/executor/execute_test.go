package executor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// note is a Finish that remembers what it was asked for.
type note struct {
	result  Result
	pause   time.Duration
	written int
}

func (n *note) finish(_ *Attempt, r Result, pause time.Duration) func(context.Context) error {
	n.result, n.pause = r, pause
	return func(context.Context) error { n.written++; return nil }
}

func TestResultOfAnAttempt(t *testing.T) {
	t.Parallel()
	const half = 500 * time.Millisecond // the pause after the first attempt
	fails := func(context.Context) error { return errBroken }
	succeeds := func(context.Context) error { return nil }
	tests := []struct {
		name    string
		happens func(*Executor, *Attempt) // while the handler is at work
		handler func(context.Context) error
		want    note
	}{
		{"success", nil, succeeds, note{Done, 0, 1}},
		{"an error", nil, fails, note{Failed, half, 1}},
		{"a panic", nil, func(context.Context) error { panic("a bad file") }, note{Failed, half, 1}},
		{"success after it was cancelled", func(_ *Executor, a *Attempt) { a.Cancel() }, succeeds, note{Cancelled, 0, 1}},
		{"an error after it was cancelled", func(e *Executor, a *Attempt) { e.Cancel([]int64{a.ID}) }, fails, note{Cancelled, 0, 1}},
		{"success after the stop", func(e *Executor, _ *Attempt) { e.beginStop() }, succeeds, note{Stopped, 0, 1}},
		{"an error after the stop", func(e *Executor, _ *Attempt) { e.beginStop() }, fails, note{Stopped, 0, 1}},
		{"cancelled after the stop", func(e *Executor, a *Attempt) { e.beginStop(); a.Cancel() }, fails, note{Stopped, 0, 1}},
		{"another was cancelled", func(e *Executor, a *Attempt) { e.Cancel([]int64{a.ID + 1}) }, succeeds, note{Done, 0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor()
			a := e.Begin(t.Context(), 7, encode(0))
			var got note
			_ = e.Execute(a, func(ctx context.Context, _ queue.Task) error {
				if tt.happens != nil {
					tt.happens(e, a)
				}
				return tt.handler(ctx)
			}, got.finish)
			if got != tt.want {
				t.Errorf("ended as %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestHandlerIsNotCalledAfterAStop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		happens func(*Executor, *Attempt) // after Begin
		before  func(*Executor)
		want    Result
		err     error
	}{
		{"by a stop before", nil, func(e *Executor) { e.beginStop() }, Stopped, queue.ErrStopping},
		{"by a stop", func(e *Executor, _ *Attempt) { e.beginStop() }, nil, Stopped, queue.ErrStopping},
		{"by a cancellation", func(_ *Executor, a *Attempt) { a.Cancel() }, nil, Cancelled, queue.ErrCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor()
			if tt.before != nil {
				tt.before(e)
			}
			a := e.Begin(t.Context(), 7, encode(0))
			if tt.happens != nil {
				tt.happens(e, a)
			}
			var got note
			err := e.Execute(a, func(context.Context, queue.Task) error {
				t.Error("the handler was called")
				return nil
			}, got.finish)
			if got.result != tt.want || got.written != 1 || !errors.Is(err, tt.err) {
				t.Errorf("ended as %+v with %v, want %d with %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestHandlersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	e := newExecutor()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	a := e.Begin(ctx, 7, encode(0))
	cancel()
	var got note
	err := e.Execute(a, func(ctx context.Context, _ queue.Task) error {
		if ctx.Value(key{}) != "value" {
			t.Error("the context lacks the values of the one it was begun with")
		}
		return ctx.Err()
	}, got.finish)
	if err != nil || got.result != Done {
		t.Errorf("ended with %v as %+v, want the end of the outer context unseen", err, got)
	}
	if a.ctx.Err() == nil {
		t.Error("the context of an attempt that has ended holds on to its resources")
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := New(slog.New(slog.NewTextHandler(&log, nil)), func() float64 { return 0.5 })
	var got note
	_ = e.Execute(e.Begin(t.Context(), 7, encode(0)), func(context.Context, queue.Task) error { panic("a bad file") }, got.finish)
	if s := log.String(); !strings.Contains(s, "a bad file") || !strings.Contains(s, "TestPanicIsLoggedWithItsStack") {
		t.Errorf("log %q, want the panic with its stack", s)
	}
}

func TestPauseIsSpread(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		random  float64
		attempt int
		want    time.Duration
	}{
		{"least after the first failure", 0, 1, 400 * time.Millisecond},
		{"middle after the first failure", 0.5, 1, 500 * time.Millisecond},
		{"most after the third failure", 1, 3, 2400 * time.Millisecond},
		{"most after many failures", 1, 50, 72 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := New(slog.New(slog.DiscardHandler), func() float64 { return tt.random })
			if got := e.retryPause(tt.attempt); (got - tt.want).Abs() > time.Microsecond {
				t.Errorf("pause %v, want %v", got, tt.want)
			}
		})
	}
}

func TestResultIsRecordedAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		a := e.Begin(t.Context(), 7, encode(0))
		began := time.Now()
		var tries []time.Duration
		_ = e.Execute(a, func(context.Context, queue.Task) error { return nil },
			func(*Attempt, Result, time.Duration) func(context.Context) error {
				return func(context.Context) error {
					tries = append(tries, time.Since(began))
					if len(tries) < 6 {
						return errBroken
					}
					return nil
				}
			})
		want := []time.Duration{0, 500, 1500, 3500, 5500, 7500}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !slices.Equal(tries, want) {
			t.Errorf("written at %v, want %v", tries, want)
		}
	})
}

func TestStopThatGivesUpEndsTheRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		err := e.Start(1, func() (func(), error) {
			a := e.Begin(t.Context(), 7, encode(0))
			return func() {
				_ = e.Execute(a, func(ctx context.Context, _ queue.Task) error { <-ctx.Done(); return nil },
					func(*Attempt, Result, time.Duration) func(context.Context) error {
						return func(context.Context) error { return errBroken }
					})
			}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 { // the second one gives up at once
			if err := e.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("stop returned %v, want the error of its context", err)
			}
		}
		if err := e.Stop(t.Context()); err != nil || len(e.IDs()) != 0 {
			t.Errorf("stop returned %v and leaves %v, want nothing", err, e.IDs())
		}
	})
}
