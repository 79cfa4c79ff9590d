package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
)

// taken takes n slots with the key of an ID, and returns what releases them.
func taken(t *testing.T, s *slots, n int, key string) (release func()) {
	t.Helper()
	var all []func()
	for range n {
		r, err := s.acquire(context.WithoutCancel(t.Context()), key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return func() {
		for _, r := range all {
			r()
		}
	}
}

// A page can have megabytes of metadata. A key that asks for many of them waits for its own, and
// nobody else does. The same holds for searches.
func TestFloodOfLists(t *testing.T) {
	t.Parallel()
	for query, of := range map[string]func(*API) *slots{
		"":              func(a *API) *slots { return a.lists },
		"?metadata.a=b": func(a *API) *slots { return a.searches },
		"?q=a":          func(a *API) *slots { return a.searches },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Config{})
			busy, key, err := r.Keys.Create(t.Context(), auth.Key{})
			r.Must(err)
			s := of(r.api)
			perKey := maxSearchesPerKey
			if query == "" {
				perKey = int(maxListsPerKey())
			}
			release := taken(t, s, perKey, key.ID)
			began := time.Now()
			if w := r.ask("GET", "/api/video"+query, ""); w.Code != http.StatusOK || time.Since(began) != 0 {
				t.Errorf("%q: another key is answered with %d after %v", query, w.Code, time.Since(began))
			}
			if query != "" {
				if w := r.askAs(busy, "GET", "/api/video", ""); w.Code != http.StatusOK || time.Since(began) != 0 {
					t.Errorf("a list without a filter is answered with %d after %v", w.Code, time.Since(began))
				}
			}
			w := r.askAs(busy, "GET", "/api/video"+query, "")
			wantProblem(t, w, http.StatusTooManyRequests, "rate_limited")
			if w.Header().Get("Retry-After") == "" || time.Since(began) != slotTimeout {
				t.Errorf("%q: one too many was refused after %v, with Retry-After %q", query, time.Since(began), w.Header().Get("Retry-After"))
			}
			time.AfterFunc(time.Second, release)
			began = time.Now()
			if w := r.askAs(busy, "GET", "/api/video"+query, ""); w.Code != http.StatusOK || time.Since(began) != time.Second {
				t.Errorf("%q: one that waits is answered with %d after %v", query, w.Code, time.Since(began))
			}
		})
	}
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

// Clients that do not read their lists keep no others of their key.
func TestASlotIsFreeBeforeTheAnswerIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		reads, done := make(chan struct{}), make(chan struct{})
		perKey := int(maxListsPerKey())
		for range perKey {
			go func() {
				q := request("GET", "/api/video", "")
				q.Header.Set(headerKey, r.key)
				r.handler.ServeHTTP(slowReader{httptest.NewRecorder(), reads}, q)
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		if w := r.ask("GET", "/api/video", ""); w.Code != http.StatusOK {
			t.Errorf("a list beside clients that do not read theirs is answered with %d", w.Code)
		}
		close(reads)
		for range perKey {
			<-done
		}
	})
}

// A slot that was in use for more than a moment rests for as long.
func TestASlotRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for worked, want := range map[time.Duration]time.Duration{time.Millisecond: 0, 100 * time.Millisecond: 100 * time.Millisecond, time.Minute: time.Second} {
			began, released := time.Now(), make(chan struct{})
			releaseRested(func() { close(released) }, worked)
			<-released
			if rest := time.Since(began); rest != want {
				t.Errorf("after %s a slot rests for %s, want %s", worked, rest, want)
			}
		}
	})
}
