package life

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

// note is an End that remembers what it was asked for.
type note struct {
	outcome Outcome
	pause   time.Duration
	written int
}

func (n *note) end(_ *Run, o Outcome, pause time.Duration) func(context.Context) error {
	n.outcome, n.pause = o, pause
	return func(context.Context) error { n.written++; return nil }
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	const half = 500 * time.Millisecond // the pause after the first attempt
	fails := func(context.Context) error { return errBroken }
	succeeds := func(context.Context) error { return nil }
	tests := []struct {
		name    string
		happens func(*Life, *Run) // while the handler is at work
		handler func(context.Context) error
		want    note
	}{
		{"success", nil, succeeds, note{Done, 0, 1}},
		{"an error", nil, fails, note{Failed, half, 1}},
		{"a panic", nil, func(context.Context) error { panic("a bad film") }, note{Failed, half, 1}},
		{"success after it was cancelled", func(_ *Life, r *Run) { r.Cancel() }, succeeds, note{Cancelled, 0, 1}},
		{"an error after it was cancelled", func(l *Life, r *Run) { l.Cancel([]int64{r.ID}) }, fails, note{Cancelled, 0, 1}},
		{"success after the stop", func(l *Life, _ *Run) { l.beginStop() }, succeeds, note{Stopped, 0, 1}},
		{"an error after the stop", func(l *Life, _ *Run) { l.beginStop() }, fails, note{Stopped, 0, 1}},
		{"cancelled after the stop", func(l *Life, r *Run) { l.beginStop(); r.Cancel() }, fails, note{Stopped, 0, 1}},
		{"another was cancelled", func(l *Life, r *Run) { l.Cancel([]int64{r.ID + 1}) }, succeeds, note{Done, 0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLife()
			r := l.Begin(t.Context(), 7, encode(0))
			var got note
			_ = l.Work(r, func(ctx context.Context, _ queue.Task) error {
				if tt.happens != nil {
					tt.happens(l, r)
				}
				return tt.handler(ctx)
			}, got.end)
			if got != tt.want {
				t.Errorf("ended as %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestWhatIsStoppedBeforeItBeganIsNotBegun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		happens func(*Life, *Run) // after Begin
		before  func(*Life)
		want    Outcome
		err     error
	}{
		{"by a stop before", nil, func(l *Life) { l.beginStop() }, Stopped, queue.ErrStopping},
		{"by a stop", func(l *Life, _ *Run) { l.beginStop() }, nil, Stopped, queue.ErrStopping},
		{"by a cancellation", func(_ *Life, r *Run) { r.Cancel() }, nil, Cancelled, queue.ErrCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLife()
			if tt.before != nil {
				tt.before(l)
			}
			r := l.Begin(t.Context(), 7, encode(0))
			if tt.happens != nil {
				tt.happens(l, r)
			}
			var got note
			err := l.Work(r, func(context.Context, queue.Task) error {
				t.Error("the handler was called")
				return nil
			}, got.end)
			if got.outcome != tt.want || got.written != 1 || !errors.Is(err, tt.err) {
				t.Errorf("ended as %+v with %v, want %d with %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestHandlersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	l := newLife()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	r := l.Begin(ctx, 7, encode(0))
	cancel()
	var got note
	err := l.Work(r, func(ctx context.Context, _ queue.Task) error {
		if ctx.Value(key{}) != "value" {
			t.Error("the context lacks the values of the one it was begun with")
		}
		return ctx.Err()
	}, got.end)
	if err != nil || got.outcome != Done {
		t.Errorf("ended with %v as %+v, want the end of the outer context unseen", err, got)
	}
	if r.ctx.Err() == nil {
		t.Error("the context of a run that has ended holds on to its resources")
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := New(slog.New(slog.NewTextHandler(&log, nil)), func() float64 { return 0.5 })
	var got note
	_ = l.Work(l.Begin(t.Context(), 7, encode(0)), func(context.Context, queue.Task) error { panic("a bad film") }, got.end)
	if s := log.String(); !strings.Contains(s, "a bad film") || !strings.Contains(s, "TestPanicIsLoggedWithItsStack") {
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
			l := New(slog.New(slog.DiscardHandler), func() float64 { return tt.random })
			if got := l.pause(tt.attempt); (got - tt.want).Abs() > time.Microsecond {
				t.Errorf("pause %v, want %v", got, tt.want)
			}
		})
	}
}

func TestEndIsRecordedAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		r := l.Begin(t.Context(), 7, encode(0))
		began := time.Now()
		var tries []time.Duration
		_ = l.Work(r, func(context.Context, queue.Task) error { return nil },
			func(*Run, Outcome, time.Duration) func(context.Context) error {
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

func TestStopThatGivesUpEndsTheTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		err := l.Start(1, func() (func(), error) {
			r := l.Begin(t.Context(), 7, encode(0))
			return func() {
				_ = l.Work(r, func(ctx context.Context, _ queue.Task) error { <-ctx.Done(); return nil },
					func(*Run, Outcome, time.Duration) func(context.Context) error {
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
			if err := l.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("stop returned %v, want the error of its context", err)
			}
		}
		if err := l.Stop(t.Context()); err != nil || len(l.IDs()) != 0 {
			t.Errorf("stop returned %v and leaves %v, want nothing", err, l.IDs())
		}
	})
}
