package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spool-video/spool/internal/engine/mp4"
)

func newIndex() *mp4.Index { return &mp4.Index{Pictures: &mp4.Segments{Init: make([]byte, 1000)}} }

func mustGet(t *testing.T, s *Shelf, key, version string) (fresh bool) {
	t.Helper()
	_, err := s.Get(t.Context(), key, version, func() (*mp4.Index, error) { fresh = true; return newIndex(), nil })
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func TestShelfKeepsWhatWasAskedForLately(t *testing.T) {
	t.Parallel()
	one := newIndex().Footprint()
	s := NewShelf(3 * one)
	for _, key := range []string{"a", "b", "c", "a", "d"} { // d takes the place of b
		mustGet(t, s, key, "1")
	}
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if s.Has(key) != want {
			t.Errorf("Has(%q) = %v, want %v", key, !want, want)
		}
	}
	if s.size != 3*one {
		t.Errorf("the shelf holds %d bytes, want %d", s.size, 3*one)
	}
}

func TestShelfKeepsOneVersion(t *testing.T) {
	t.Parallel()
	s := NewShelf(1 << 20)
	for i, want := range []bool{true, false} {
		if fresh := mustGet(t, s, "a", "1"); fresh != want {
			t.Errorf("request %d reads the index: %v", i, fresh)
		}
	}
	if !mustGet(t, s, "a", "2") || mustGet(t, s, "a", "2") {
		t.Error("a new version is to be read, once")
	}
	if s.size != newIndex().Footprint() || s.recent.Len() != 1 {
		t.Errorf("the shelf holds %d versions", s.recent.Len())
	}
}

func TestShelfHasNoRoomForWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := NewShelf(10)
	mustGet(t, s, "a", "1")
	if s.Has("a") || s.size != 0 {
		t.Errorf("the shelf holds %d bytes", s.size)
	}
}

func TestAnIndexIsReadOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShelf(1 << 20)
		var reads atomic.Int32
		ready := make(chan struct{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				x, err := s.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { reads.Add(1); <-ready; return newIndex(), nil })
				if x == nil || err != nil {
					t.Errorf("Get = %v, %v", x, err)
				}
			})
		}
		synctest.Wait()
		close(ready)
		all.Wait()
		if reads.Load() != 1 {
			t.Errorf("the index was read %d times", reads.Load())
		}
	})
}

func TestOnlyAFewIndexesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShelf(1 << 20)
		var reading atomic.Int32
		ready := make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_, _ = s.Get(ctx, fmt.Sprint(i), "1", func() (*mp4.Index, error) { reading.Add(1); <-ready; return newIndex(), nil })
			})
		}
		synctest.Wait()
		if got := int(reading.Load()); got != cap(s.turns) {
			t.Errorf("%d are read at once, want %d", got, cap(s.turns))
		}
		leave() // nobody waits for a turn that is not wanted any more
		synctest.Wait()
		close(ready)
		all.Wait()
		if got := int(reading.Load()); got != cap(s.turns) {
			t.Errorf("%d were read for clients that had left", got-cap(s.turns))
		}
	})
}

func TestOneWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShelf(1 << 20)
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, _ = s.Get(ctx, "a", "1", func() (*mp4.Index, error) { <-ctx.Done(); return nil, ctx.Err() })
		}()
		synctest.Wait()
		got := make(chan error)
		go func() {
			_, err := s.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { return newIndex(), nil })
			got <- err
		}()
		synctest.Wait()
		leave()
		if err := <-got; err != nil {
			t.Errorf("the other one gets %v", err)
		}
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	s := NewShelf(1 << 20)
	broken := errors.New("broken")
	if _, err := s.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("Get = %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { panic("no") })
	}()
	if !mustGet(t, s, "a", "1") || len(s.turns) != 0 || len(s.coming) != 0 {
		t.Errorf("the shelf remembers failures: %d turns, %d coming", len(s.turns), len(s.coming))
	}
}
