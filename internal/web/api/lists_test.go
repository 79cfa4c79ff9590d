package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

// busy takes what a tenant may compute at once, and returns what releases it.
func (r *rig) busy(tenant video.Tenant) (release func()) {
	r.T.Helper()
	var all []*limit.Turn
	for {
		ctx, turn := r.api.config.Limits.Begin(r.T.Context(), limit.Principal{Tenant: tenant})
		if turn.Work(ctx) != nil {
			break
		}
		all = append(all, turn)
	}
	return func() {
		for _, turn := range all {
			turn.End()
		}
	}
}

// A page can have megabytes of metadata, and a search examines thousands of videos. A tenant that asks for many
// of them waits for its own, and nobody else does.
func TestFloodOfLists(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/api/video", "/api/video?metadata.a=b", "/api/video?q=a", "/api/video?isPublic=true", "/api/video/{id}/report"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Config{})
			path := strings.ReplaceAll(path, "{id}", string(r.Create(video.Draft{}).Video.ID))
			other := r.newKeyOf("other")
			release := r.busy(video.DefaultTenant)
			began := time.Now()
			if w := r.askAs(other, "GET", path, ""); w.Code == http.StatusTooManyRequests || time.Since(began) != 0 {
				t.Errorf("%s: another tenant is answered with %d after %v", path, w.Code, time.Since(began))
			}
			if w := r.ask("GET", "/api/usage", ""); w.Code != http.StatusOK || time.Since(began) != 0 {
				t.Errorf("what costs little is answered with %d after %v", w.Code, time.Since(began))
			}
			w := r.askAs(r.newKey(), "GET", path, "")
			wantProblem(t, w, http.StatusTooManyRequests, "rate_limited")
			if w.Header().Get("Retry-After") == "" || time.Since(began) != limit.Patience {
				t.Errorf("%s: one too many was refused after %v, with Retry-After %q", path, time.Since(began), w.Header().Get("Retry-After"))
			}
			began = time.Now()
			time.AfterFunc(time.Second, release)
			if w := r.ask("GET", path, ""); w.Code != http.StatusOK || time.Since(began) < time.Second {
				t.Errorf("%s: one that waits is answered with %d after %v", path, w.Code, time.Since(began))
			}
		})
	}
}

// slowReader does not take the response before the channel is closed.
type slowReader struct {
	*httptest.ResponseRecorder
	reads <-chan struct{}
	held  func(n int)
}

func (w slowReader) Write(b []byte) (int, error) {
	w.held(len(b))
	<-w.reads
	return w.ResponseRecorder.Write(b)
}

// Answers that wait for slow clients are bounded by tenant: in bytes, whatever the number of keys and requests.
func TestAnswersThatAreNotReadAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		metadata := json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10-100) + `"}`)
		for range 100 {
			r.Create(video.Draft{Metadata: metadata})
		}
		size := r.ask("GET", "/api/video?limit=100", "").Body.Len()
		reads, done := make(chan struct{}), make(chan int)
		var kept atomic.Int64
		keys := []string{r.key, r.newKey(), r.newKey(), r.newKey()}
		const many = 60
		for n := range many {
			go func() {
				q := request("GET", "/api/video?limit=100", "")
				q.Header.Set(headerKey, keys[n%len(keys)])
				w := slowReader{httptest.NewRecorder(), reads, func(n int) { kept.Add(int64(n)) }}
				r.handler.ServeHTTP(w, q)
				done <- w.Code
			}()
			synctest.Wait()
		}
		if n := kept.Load(); n > 16<<20 || n < int64(size) {
			t.Errorf("%d bytes of pages of %d wait for their readers; want at most 16 MiB", n, size)
		}
		if w := r.ask("GET", "/api/usage", ""); w.Code != http.StatusOK {
			t.Errorf("a small answer of the same tenant is %d", w.Code)
		}
		if w := r.askAs(r.newKeyOf("other"), "GET", "/api/video?limit=100", ""); w.Code != http.StatusOK {
			t.Errorf("a list of another tenant is answered with %d", w.Code)
		}
		time.Sleep(many * (limit.Patience + time.Second))
		close(reads)
		statuses := map[int]int{}
		for range many {
			statuses[<-done]++
		}
		if statuses[http.StatusOK]+statuses[http.StatusTooManyRequests] != many || statuses[http.StatusOK] > 16<<20/size {
			t.Errorf("the statuses are %v", statuses)
		}
		time.Sleep(time.Minute)
		if w := r.ask("GET", "/api/video?limit=100", ""); w.Code != http.StatusOK {
			t.Errorf("when all have read theirs, a list is answered with %d", w.Code)
		}
	})
}
