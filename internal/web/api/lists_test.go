package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// slowLists is a service whose lists take a second for one of the keys.
type slowLists struct {
	*fakeService
	mu            sync.Mutex
	running, most int
}

func (s *slowLists) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
	s.most = max(s.most, s.running)
}

func (s *slowLists) List(_ context.Context, by auth.Actor, _ video.Filter, _ video.Cursor, _ int) (catalog.Page, error) {
	if by.KeyID != "k2" { // of readKey
		return catalog.Page{}, nil
	}
	s.count(1)
	time.Sleep(time.Second)
	s.count(-1)
	return catalog.Page{}, nil
}

// slowReader does not take the response before the channel is closed.
type slowReader struct {
	*httptest.ResponseRecorder
	reads <-chan struct{}
}

func (w slowReader) Write(b []byte) (int, error) {
	<-w.reads
	return w.ResponseRecorder.Write(b)
}

// A page can have megabytes of metadata. A key that asks for many of them waits for its own, and
// nobody else does.
func TestFloodOfLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeService{}
		lists, services := &slowLists{fakeService: f}, f.services()
		services.Catalog = lists
		a := New(services, Config{})
		h := problem.RequestID(slog.New(slog.DiscardHandler), a.InFrontOf(http.NotFoundHandler()))
		list := func(key string, w http.ResponseWriter) {
			r := request("GET", "/api/video", "")
			r.Header.Set(headerKey, key)
			h.ServeHTTP(w, r)
		}
		perKey, answers := int(maxListsPerKey()), make(chan int, 100)
		for range 3 * perKey {
			go func() {
				w := httptest.NewRecorder()
				list(readKey, w)
				answers <- w.Code
			}()
		}
		synctest.Wait()
		began, w := time.Now(), httptest.NewRecorder()
		list(testKey, w)
		if w.Code != http.StatusOK || time.Since(began) != 0 {
			t.Errorf("a list of another key is answered with %d after %v", w.Code, time.Since(began))
		}
		for range 3 * perKey {
			if status := <-answers; status != http.StatusOK {
				t.Errorf("a list is answered with %d", status)
			}
		}
		if took := time.Since(began); took != 5*time.Second || lists.most != perKey {
			t.Errorf("%d lists ran at once, and all took %v; want %d and 5 s, with two pauses", lists.most, took, perKey)
		}
		wantFreedBeforeSending(t, perKey, list)
	})
}

// wantFreedBeforeSending wants that clients that do not read their lists keep no others of their key.
func wantFreedBeforeSending(t *testing.T, perKey int, list func(string, http.ResponseWriter)) {
	t.Helper()
	reads, done := make(chan struct{}), make(chan struct{}, 100)
	for range perKey {
		go func() {
			list(readKey, slowReader{httptest.NewRecorder(), reads})
			done <- struct{}{}
		}()
	}
	time.Sleep(2 * time.Second)
	w := httptest.NewRecorder()
	list(readKey, w)
	if w.Code != http.StatusOK {
		t.Errorf("a list beside clients that do not read theirs is answered with %d", w.Code)
	}
	close(reads)
	for range perKey {
		<-done
	}
}
