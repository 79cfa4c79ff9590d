package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// guess sends a request with an API key from an address.
func guess(h http.Handler, key, from string, header ...string) (status int, retryAfter string) {
	r := request("GET", "/api/video", "")
	r.Header.Set("X-API-KEY", key)
	r.RemoteAddr = from
	for _, h := range header {
		r.Header.Add("X-Forwarded-For", h)
	}
	w := do(h, r)
	return w.Code, w.Header().Get("Retry-After")
}

func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRig(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		h := r.handler
		refused := 0
		for i := range 2000 {
			status, retry := guess(h, fmt.Sprint("guess-", i), "192.0.2.1:4000")
			if status == http.StatusTooManyRequests && retry == "1" {
				refused++
			} else if status != http.StatusUnauthorized {
				t.Fatalf("guess %d: status %d, Retry-After %q", i, status, retry)
			}
		}
		if refused != 2000-failureBurst {
			t.Errorf("%d of 2000 guesses are refused; want all but %d", refused, failureBurst)
		}
		if n := strings.Count(log.String(), "invalid API keys"); n != 1 || !strings.Contains(log.String(), "192.0.2.1") || strings.Contains(log.String(), "guess-") {
			t.Errorf("the log says\n%s; want one warning with the address", &log)
		}
		if status, _ := guess(h, r.key, "192.0.2.1:4001"); status != http.StatusOK {
			t.Errorf("a valid key from the same address: status %d", status)
		}
		if status, _ := guess(h, "", "192.0.2.1:4002"); status != http.StatusUnauthorized {
			t.Errorf("no key from the same address: status %d", status)
		}
		if status, _ := guess(h, "guess", "192.0.2.2:4000"); status != http.StatusUnauthorized {
			t.Errorf("a guess from another address: status %d", status)
		}
		time.Sleep(time.Second)
		first, _ := guess(h, "guess", "192.0.2.1:4000")
		second, _ := guess(h, "guess", "192.0.2.1:4000")
		if first != http.StatusUnauthorized || second != http.StatusTooManyRequests {
			t.Errorf("two guesses a second later: %d and %d; want one of them refused", first, second)
		}
	})
}
