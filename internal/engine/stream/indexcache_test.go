package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/panics"
)

func newIndex() *mp4.Index { return &mp4.Index{Video: &mp4.Segments{Init: make([]byte, 1000)}} }

func mustGet(t *testing.T, c *IndexCache, key, version string) (fresh bool) {
	t.Helper()
	_, err := c.Get(t.Context(), key, version, func() (*mp4.Index, error) { fresh = true; return newIndex(), nil })
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func TestTheLeastRecentlyUsedIndexIsDropped(t *testing.T) {
	t.Parallel()
	one := newIndex().Footprint()
	c := NewIndexCache(3 * one)
	for _, key := range []string{"a", "b", "c", "a", "d"} { // d takes the place of b
		mustGet(t, c, key, "1")
	}
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if c.Has(key) != want {
			t.Errorf("Has(%q) = %v, want %v", key, !want, want)
		}
	}
	if c.size != 3*one {
		t.Errorf("the cache holds %d bytes, want %d", c.size, 3*one)
	}
}

func TestOneVersionOfAnIndexIsKept(t *testing.T) {
	t.Parallel()
	c := NewIndexCache(1 << 20)
	for i, want := range []bool{true, false} {
		if fresh := mustGet(t, c, "a", "1"); fresh != want {
			t.Errorf("request %d reads the index: %v", i, fresh)
		}
	}
	if !mustGet(t, c, "a", "2") || mustGet(t, c, "a", "2") {
		t.Error("a new version is to be read, once")
	}
	if c.size != newIndex().Footprint() || c.recent.Len() != 1 {
		t.Errorf("the cache holds %d versions", c.recent.Len())
	}
}

func TestAnIndexLargerThanTheCacheIsNotKept(t *testing.T) {
	t.Parallel()
	c := NewIndexCache(10)
	mustGet(t, c, "a", "1")
	if c.Has("a") || c.size != 0 {
		t.Errorf("the cache holds %d bytes", c.size)
	}
}

func TestAnIndexIsReadOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := NewIndexCache(1 << 20)
		var reads atomic.Int32
		ready := make(chan struct{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				x, err := c.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { reads.Add(1); <-ready; return newIndex(), nil })
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
		c := NewIndexCache(1 << 20)
		var reading atomic.Int32
		ready := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_, _ = c.Get(ctx, fmt.Sprint(i), "1", func() (*mp4.Index, error) { reading.Add(1); <-ready; return newIndex(), nil })
			})
		}
		synctest.Wait()
		if got := int(reading.Load()); got != cap(c.slots) {
			t.Errorf("%d are read at once, want %d", got, cap(c.slots))
		}
		cancel() // a caller that has gone away does not wait for a slot
		synctest.Wait()
		close(ready)
		all.Wait()
		if got := int(reading.Load()); got != cap(c.slots) {
			t.Errorf("%d were read for clients that had left", got-cap(c.slots))
		}
	})
}

func TestACancelledReaderDoesNotFailOtherCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := NewIndexCache(1 << 20)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = c.Get(ctx, "a", "1", func() (*mp4.Index, error) { <-ctx.Done(); return nil, ctx.Err() })
		}()
		synctest.Wait()
		got := make(chan error)
		go func() {
			_, err := c.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { return newIndex(), nil })
			got <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-got; err != nil {
			t.Errorf("the other caller gets %v", err)
		}
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	c := NewIndexCache(1 << 20)
	broken := errors.New("broken")
	if _, err := c.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("Get = %v", err)
	}
	if !mustGet(t, c, "a", "1") || len(c.slots) != 0 || len(c.calls) != 0 {
		t.Errorf("the cache remembers failures: %d slots taken, %d calls in flight", len(c.slots), len(c.calls))
	}
}

// TestAPanicIsAnErrorForAllCallers reads an index in goroutines that nobody
// recovers, as the playlist handlers do: a panic there would end the process.
func TestAPanicIsAnErrorForAllCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := NewIndexCache(1 << 20)
		ready := make(chan struct{})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				x, err := c.Get(t.Context(), "a", "1", func() (*mp4.Index, error) { <-ready; panic("sample 7 of 6") })
				p, ok := errors.AsType[*panics.Error](err)
				if x != nil || !ok || p.Value != "sample 7 of 6" || !bytes.Contains(p.Stack, []byte("indexcache_test.go")) {
					t.Errorf("Get = %v, %v; want an error with the panic and its stack", x, err)
				}
			})
		}
		synctest.Wait()
		close(ready)
		all.Wait()
		if !mustGet(t, c, "a", "1") || len(c.slots) != 0 || len(c.calls) != 0 {
			t.Errorf("the cache remembers the panic: %d slots taken, %d calls in flight", len(c.slots), len(c.calls))
		}
	})
}
