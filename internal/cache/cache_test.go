package cache

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spool-video/spool/internal/panics"
)

func TestTheLeastRecentlyUsedIsDropped(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	for i, key := range []string{"a", "b", "c"} {
		c.Put(key, i, 30)
	}
	c.Get("a")
	c.Put("d", 3, 30) // in the place of b
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is kept: %t; want %t", key, ok, want)
		}
	}
	if c.size != 90 || c.recent.Len() != 3 {
		t.Errorf("%d bytes and %d values are kept; want 90 and 3", c.size, c.recent.Len())
	}
}

func TestAValueThatIsTooLargeDropsNoOther(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	c.Put("small", 1, 50)
	c.Put("large", 2, 101)
	if _, ok := c.Get("large"); ok {
		t.Error("a value of more than the limit is kept")
	}
	if value, ok := c.Get("small"); !ok || value != 1 {
		t.Errorf("the small value is %d, %v; want 1", value, ok)
	}
}

func TestALaterValueTakesThePlace(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	c.Put("a", 1, 90)
	c.Put("a", 2, 10)
	if value, _ := c.Get("a"); value != 2 || c.size != 10 {
		t.Errorf("value = %d with %d bytes; want the later one with 10", value, c.size)
	}
	c.Delete("a")
	if _, ok := c.Get("a"); ok || c.size != 0 {
		t.Errorf("after its deletion it is there: %t, with %d bytes", ok, c.size)
	}
}

// mustDo returns whether a value had to be produced.
func mustDo(t *testing.T, c *Cache[string, int], key string) (fresh bool) {
	t.Helper()
	value, err := c.Do(t.Context(), key, func() (int, int64, error) { fresh = true; return 7, 1, nil })
	if err != nil || value != 7 {
		t.Fatalf("Do = %d, %v; want 7", value, err)
	}
	return fresh
}

func TestAValueIsProducedOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](100)
		var produced atomic.Int32
		ready := make(chan struct{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				value, err := c.Do(t.Context(), "a", func() (int, int64, error) { produced.Add(1); <-ready; return 7, 1, nil })
				if value != 7 || err != nil {
					t.Errorf("Do = %v, %v", value, err)
				}
			})
		}
		synctest.Wait()
		if !mustDo(t, c, "b") {
			t.Error("another key is there already")
		}
		close(ready)
		all.Wait()
		if produced.Load() != 1 || mustDo(t, c, "a") {
			t.Errorf("the value was produced %d times and forgotten; want once", produced.Load())
		}
	})
}

func TestACallerThatLeavesDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](100)
		ctx, leave := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := c.Do(ctx, "a", func() (int, int64, error) { <-ctx.Done(); return 0, 0, ctx.Err() })
			first <- err
		}()
		synctest.Wait()
		go func() {
			_, err := c.Do(t.Context(), "a", func() (int, int64, error) { return 7, 1, nil })
			second <- err
		}()
		synctest.Wait()
		leave()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that leaves gets %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the other caller gets %v", err)
		}
	})
}

func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	broken := errors.New("broken")
	if _, err := c.Do(t.Context(), "a", func() (int, int64, error) { return 0, 0, broken }); !errors.Is(err, broken) {
		t.Errorf("Do = %v; want the error", err)
	}
	_, err := c.Do(t.Context(), "a", func() (int, int64, error) { panic("sample 7 of 6") })
	if p, ok := errors.AsType[*panics.Error](err); !ok || p.Value != "sample 7 of 6" || !bytes.Contains(p.Stack, []byte("cache_test.go")) {
		t.Errorf("Do = %v; want the panic with its stack", err)
	}
	if !mustDo(t, c, "a") {
		t.Error("a failure is kept")
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	c := New[int, int](20)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				key := (n + i) % 40
				if value, err := c.Do(t.Context(), key, func() (int, int64, error) { return key, 1, nil }); value != key || err != nil {
					t.Errorf("Do(%d) = %d, %v", key, value, err)
				}
				if n%7 == 0 {
					c.Delete(key)
				}
			}
		})
	}
	all.Wait()
	if c.size > 20 || int64(c.recent.Len()) != c.size || len(c.entries) != c.recent.Len() {
		t.Errorf("%d bytes, %d values, %d keys; want at most 20 of each", c.size, c.recent.Len(), len(c.entries))
	}
}

func TestWhatGoesIsTold(t *testing.T) {
	t.Parallel()
	var gone []string
	c := NewEvicting(2, func(v string) { gone = append(gone, v) })
	for _, k := range []string{"a", "b", "c"} {
		c.Put(k, "value of "+k, 1)
	}
	c.Delete("c")
	c.Delete("none")
	if want := []string{"value of a", "value of c"}; !slices.Equal(gone, want) {
		t.Errorf("gone are %q, want %q", gone, want)
	}
}

// A value that was deleted while it was produced is given to those who waited for it, and to no other.
func TestAValueIsDeletedWhileItIsProduced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](100)
		ready := make(chan struct{})
		go func() {
			value, err := c.Do(t.Context(), "a", func() (int, int64, error) { <-ready; return 1, 1, nil })
			if value != 1 || err != nil {
				t.Errorf("Do = %v, %v", value, err)
			}
		}()
		synctest.Wait()
		c.Delete("a")
		if !mustDo(t, c, "a") {
			t.Error("the earlier call was waited for")
		}
		close(ready)
		synctest.Wait()
		if mustDo(t, c, "a") || len(c.making) != 0 {
			t.Errorf("the later value is not kept; %d are being produced", len(c.making))
		}
	})
}

func TestAnOldValueIsReplaced(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	c.Put("a", 1, 1)
	isOld := func(n int) bool { return n < 2 }
	_, err := c.DoUnless(t.Context(), "a", isOld, func() (int, int64, error) { return 0, 0, context.DeadlineExceeded })
	if value, kept := c.Get("a"); !errors.Is(err, context.DeadlineExceeded) || value != 1 || !kept {
		t.Errorf("after an error %v the value is %d, %t", err, value, kept)
	}
	for range 2 {
		if value, err := c.DoUnless(t.Context(), "a", isOld, func() (int, int64, error) { return 2, 1, nil }); value != 2 || err != nil {
			t.Errorf("DoUnless = %d, %v", value, err)
		}
	}
}
