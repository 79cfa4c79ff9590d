package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/metrics"
)

// A client without a key cannot fill the disk with the log, and is not named in it.
func TestRequestsWithoutAKeyAreSummedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mux := http.NewServeMux()
		mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-API-KEY") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			r.Pattern = "GET /api/video" // as the API does
		})
		mux.HandleFunc("PUT /upload/{token}/{id}", func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("token") == "bad" {
				w.WriteHeader(http.StatusForbidden)
			}
		})
		var out transcript
		log := slog.New(slog.NewJSONHandler(&out, nil))
		h := Log(mux, log, metrics.New("test"), time.Now, nil, nil)
		send := func(address, method, path, key string) {
			r := httptest.NewRequest(method, path, nil)
			r.RemoteAddr = address + ":1234"
			r.Header.Set("X-API-KEY", key)
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		for range 1000 {
			send("192.0.2.1", "GET", "/api/video", "")
			send("192.0.2.1", "GET", "/nothing", "")
			send("192.0.2.1", "PUT", "/upload/bad/x", "")
		}
		send("192.0.2.2", "GET", "/nothing", "")
		if n := strings.Count(out.take(), "\n"); n != listedEach+1 {
			t.Errorf("%d requests of two addresses are listed; want %d of one and 1 of the other", n, listedEach)
		}
		time.Sleep(summaryInterval)
		synctest.Wait()
		summary := out.take()
		var line struct {
			Requests, Addresses int
			Statuses            map[string]int
		}
		if err := json.Unmarshal([]byte(summary), &line); err != nil {
			t.Fatalf("%v: %s", err, summary)
		}
		if line.Requests != 3000-listedEach || line.Addresses != 1 || line.Statuses["401"] != 1000-listedEach/3 || strings.Contains(summary, "192.0") {
			t.Errorf("the summary is %s", summary)
		}
		for range 100 {
			send("192.0.2.1", "GET", "/api/video", "key")
			send("192.0.2.1", "PUT", "/upload/good/x", "")
		}
		if n := strings.Count(out.take(), "\n"); n != 200 {
			t.Errorf("%d of 200 requests with a key, or to the URL of an upload, are listed", n)
		}
		for n := range 5000 {
			send(fmt.Sprintf("203.0.%d.%d", n/250, n%250), "GET", "/nothing", "")
		}
		if n := strings.Count(out.take(), "\n"); n > listedAll {
			t.Errorf("%d requests of many addresses are listed in a moment; want %d at most", n, listedAll)
		}
		time.Sleep(2 * summaryInterval)
	})
}

// transcript is what was logged since it was taken last.
type transcript struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(b)
}

func (o *transcript) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.out.Reset()
	return o.out.String()
}
