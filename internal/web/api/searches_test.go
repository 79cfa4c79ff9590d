package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// slowSearches is a service whose searches take until the channel is closed.
type slowSearches struct {
	*fakeService
	end     <-chan struct{}
	running *atomic.Int32
}

func (s slowSearches) List(ctx context.Context, by auth.Actor, f video.Filter, after video.Cursor, limit int) (catalog.Page, error) {
	if len(f.Labels) == 0 {
		return s.fakeService.List(ctx, by, f, after, limit)
	}
	s.running.Add(1)
	<-s.end
	return catalog.Page{}, nil
}

// TestFloodOfSearches has a key that makes more searches than it may. It waits for its own, and
// nobody else does.
func TestFloodOfSearches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end, f := make(chan struct{}), &fakeService{}
		services := f.services()
		var running atomic.Int32
		services.Catalog = slowSearches{f, end, &running}
		a := New(services, Config{})
		h := problem.RequestID(slog.New(slog.DiscardHandler), a.InFrontOf(http.NotFoundHandler()))
		list := func(key, query string) *httptest.ResponseRecorder {
			r := request("GET", "/api/video"+query, "")
			r.Header.Set(headerKey, key)
			return do(h, r)
		}
		answers := make(chan int, 10)
		search := func(key string) { answers <- list(key, "?metadata.a=b").Code }
		for range maxSearchesPerKey {
			go search(readKey)
		}
		synctest.Wait()
		began := time.Now()
		for _, key := range []string{readKey, testKey} {
			if w := list(key, ""); w.Code != http.StatusOK {
				t.Errorf("a list without a filter is answered with %d", w.Code)
			}
		}
		if time.Since(began) != 0 {
			t.Errorf("lists waited for %v", time.Since(began))
		}
		w := list(readKey, "?metadata.a=b")
		wantProblem(t, w, http.StatusTooManyRequests, "rate_limited")
		if w.Header().Get("Retry-After") == "" || time.Since(began) != slotTimeout {
			t.Errorf("a search too many was refused after %v, with Retry-After %q", time.Since(began), w.Header().Get("Retry-After"))
		}
		go search(testKey) // there is a slot for another key
		synctest.Wait()
		if n := running.Load(); n != maxSearchesPerKey+1 {
			t.Errorf("%d searches run, want %d", n, maxSearchesPerKey+1)
		}
		close(end)
		for range maxSearchesPerKey + 1 {
			if status := <-answers; status != http.StatusOK {
				t.Errorf("a search is answered with %d", status)
			}
		}
		if w := list(readKey, "?metadata.a=b"); w.Code != http.StatusOK {
			t.Errorf("a search after the flood is answered with %d", w.Code)
		}
	})
}
