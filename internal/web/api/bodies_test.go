package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/video"
)

func TestBodySlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newBodySlots()
		refused := func(key, code string) {
			t.Helper()
			began := time.Now()
			_, err := s.acquire(t.Context(), key)
			e, ok := errors.AsType[*video.Error](err)
			if !ok || e.Code != code || e.RetryAfter == 0 || time.Since(began) != slotTimeout {
				t.Errorf("key %s: %v after %s; want %s", key, err, time.Since(began), code)
			}
		}
		var release []func()
		take := func(key string) {
			t.Helper()
			r, err := s.acquire(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			release = append(release, r)
		}
		for range maxLargeBodiesPerKey {
			take("a")
		}
		refused("a", "rate_limited")
		for n := range maxLargeBodies - maxLargeBodiesPerKey {
			take(fmt.Sprint(n))
		}
		refused("b", "overloaded")
		go func() { time.Sleep(slotTimeout / 2); release[0]() }()
		take("b") // waits for it
		for _, r := range release[1:] {
			r()
		}
	})
}

// slowBody is a large body whose end does not come until the test ends.
type slowBody struct {
	io.Reader
	ctx context.Context
}

func newSlowBody(ctx context.Context) *slowBody {
	return &slowBody{bytes.NewReader(make([]byte, 2*smallBody)), ctx}
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n == 0 && err != nil {
		<-b.ctx.Done()
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

// Clients that send large bodies slowly do not delay requests of the usual size.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		for range maxLargeBodiesPerKey {
			q := request("POST", "/api/video", "")
			q.Body = io.NopCloser(newSlowBody(ctx))
			go r.send(q)
		}
		synctest.Wait()
		began := time.Now()
		if w := r.ask("POST", "/api/video", validDraft); w.Code != http.StatusCreated || time.Since(began) != 0 {
			t.Errorf("a create answers %d after %s", w.Code, time.Since(began))
		}
		large := httptest.NewRequest("POST", "/api/video", newSlowBody(ctx))
		w := r.send(large)
		wantProblem(t, w, http.StatusTooManyRequests, "rate_limited")
		if w.Header().Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
		cancel()
		synctest.Wait()
		body := full(`{"filename":"a","resolutions":[],"isPublic":true`, " ", "}")
		wantProblem(t, r.ask("POST", "/api/video", body), http.StatusBadRequest, "invalid_request")
	})
}
