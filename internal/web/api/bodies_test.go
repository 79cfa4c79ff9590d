package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/limit"
)

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

// Clients that send large bodies slowly delay no requests of the usual size, and none of another tenant. How
// much of them is kept is bounded by tenant, not by key.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan time.Duration, 100)
		for range 16 {
			q := request("POST", "/api/video", "")
			q.Header.Set(headerKey, r.newKey())
			q.Body, q.ContentLength = io.NopCloser(newSlowBody(ctx)), -1
			go func() {
				began := time.Now()
				if r.send(q).Code == http.StatusTooManyRequests {
					refused <- time.Since(began)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		if w := r.ask("POST", "/api/video", validDraft); w.Code != http.StatusCreated || time.Since(began) != 0 {
			t.Errorf("a create answers %d after %s", w.Code, time.Since(began))
		}
		body := full(`{"filename":"a","resolutions":[],"isPublic":true`, " ", "}")
		wantProblem(t, r.askAs(r.newKeyOf("other"), "POST", "/api/video", body), http.StatusBadRequest, "invalid_request")
		if time.Since(began) != 0 {
			t.Errorf("a large body of another tenant waits for %s", time.Since(began))
		}
		w := r.send(httptest.NewRequest("POST", "/api/video", newSlowBody(ctx)))
		wantProblem(t, w, http.StatusTooManyRequests, "rate_limited")
		if w.Header().Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
		synctest.Wait() // until those who waited as long are refused, too: what cancel releases could still be theirs
		cancel()
		synctest.Wait()
		if n := len(refused); n != 8 || <-refused != limit.Patience {
			t.Errorf("%d of 16 bodies were refused; want those beyond 16 MiB, after %s", n, limit.Patience)
		}
		wantProblem(t, r.ask("POST", "/api/video", body), http.StatusBadRequest, "invalid_request")
	})
}
