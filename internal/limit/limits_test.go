package limit

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// wantRefused checks that err is the answer to a principal that was over its share for so long.
func wantRefused(t *testing.T, err error, began time.Time) {
	t.Helper()
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Kind != video.RateLimited || e.RetryAfter == 0 || time.Since(began) != Patience {
		t.Errorf("after %s it gets %v; want 429 with Retry-After after %s", time.Since(began), err, Patience)
	}
}

func client(address string) Principal {
	return Principal{Client: netip.MustParsePrefix(address)}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(1000)
		acme := Principal{Tenant: "acme"}
		ctx, first := l.Begin(t.Context(), acme)
		if TurnOf(ctx) != first || first.Work(ctx) != nil || first.Work(ctx) != nil {
			t.Fatal("a request gets no place, or needs another one")
		}
		for { // the other places of a machine with many cores
			ctx, turn := l.Begin(t.Context(), acme)
			if turn.Work(ctx) != nil {
				break
			}
		}
		began := time.Now()
		ctx, second := l.Begin(t.Context(), acme)
		wantRefused(t, second.Work(ctx), began)
		for _, other := range []Principal{{Tenant: "other"}, client("192.0.2.1/32")} {
			ctx, turn := l.Begin(t.Context(), other)
			if err := turn.Work(ctx); err != nil {
				t.Errorf("%v gets no place: %v", other, err)
			}
			turn.End()
		}
		began = time.Now()
		first.End()
		if err := second.Work(ctx); err != nil || time.Since(began) != time.Second {
			t.Errorf("the next one gets %v after %s; want its place when it has rested", err, time.Since(began))
		}
		if err := second.Memory(ctx, tenantMemory); err != nil {
			t.Errorf("a request gets no memory: %v", err)
		}
		ctx, third := l.Begin(t.Context(), acme)
		began = time.Now()
		wantRefused(t, third.Memory(ctx, 1), began)
		second.End()
		if err := third.Memory(ctx, 2*tenantMemory); err != nil {
			t.Errorf("more than a share, which counts as one, is refused: %v", err)
		}
		third.End()
		var none *Turn
		if none.Work(ctx) != nil || none.Memory(ctx, 1) != nil || none.File(ctx) != nil {
			t.Error("without a turn there are limits")
		}
		none.EndWork()
		none.End()
		time.Sleep(time.Minute)
	})
}

// A company behind one address has as many places as it likes while there are enough. When they are short, it has its
// share, and others have theirs.
func TestPlacesBindWhileTheyAreShort(t *testing.T) {
	t.Parallel()
	p := NewPlaces[string](3, 100)
	var held []func()
	for {
		release, err := p.TryAcquire("company", 1)
		if err != nil {
			break
		}
		held = append(held, release)
	}
	if len(held) != 53 {
		t.Errorf("one that takes all it can has %d places of 100; want half of them and its share", len(held))
	}
	for _, other := range []string{"a", "b"} {
		if release, err := p.TryAcquire(other, 100); err != nil {
			t.Errorf("%s gets none: %v", other, err)
		} else {
			release()
		}
	}
	for _, release := range held {
		release()
	}
	if release, err := p.Acquire(t.Context(), "company", 3); err != nil {
		t.Error(err)
	} else {
		release()
	}
	if len(p.shares.users) != 0 || !p.first.TryAcquire(50) {
		t.Error("after all were released, some are in use")
	}
}

func TestARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShares[string](1, nil).resting()
		for used, want := range map[time.Duration]time.Duration{time.Millisecond: 0, 100 * time.Millisecond: 100 * time.Millisecond, time.Minute: time.Second} {
			release := mustAcquire(t, s, "a", 1)
			time.Sleep(used)
			release()
			began := time.Now()
			release, err := s.Acquire(t.Context(), "a", 1)
			if err != nil || time.Since(began) != want {
				t.Errorf("after %s of use it rests for %s, %v; want %s", used, time.Since(began), err, want)
			}
			release()
		}
	})
}
