package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/web/delivery"
)

// maxFloodMemory is how much memory the process may use while it is flooded with bodies.
const maxFloodMemory = 300 << 20

// full returns a body of the maximum size: begin, then item as often as it fits, then end.
func full(begin, item, end string) string {
	n := (maxBody - len(begin) - len(end)) / len(item)
	return begin + strings.Repeat(item, n) + end
}

// TestFloodOfBodies is not parallel: it measures the memory of the process.
func TestFloodOfBodies(t *testing.T) {
	r := newRig(t, Config{})
	read := r.newKey(auth.Read)
	server := httptest.NewServer(delivery.Guard(r.handler, delivery.Timeouts{}))
	defer server.Close()
	const create, begin = "/api/video", `{"filename":"a","isPublic":true,`
	floods := []struct{ name, path, body string }{
		{"resolutions of the wrong type", create, full(begin+`"resolutions":[1`, ",1", "]}")},
		{"unknown resolutions", create, full(begin+`"resolutions":[""`, `,""`, "]}")},
		{"thumbnails of the wrong type", create, full(begin+`"resolutions":["4k"],"thumbnailTimestampsSeconds":[{}`, ",{}", "]}")},
		{"nested metadata", create, full(begin+`"resolutions":[],"customMetadata":{"a":[0`, ",[]", "]}}")},
		{"fields", create, full(begin+`"resolutions":[]`, `,"":0`, "}")},
		{"escaped fields", create, full(begin+`"resolutions":[]`, `,"\u0061bcdefgh":0`, "}")},
		{"fields of a completion", "/api/video/" + testID + "/complete-upload", full(`{"checksum":1`, `,"":0`, "}")},
		{"fields of a resolution", "/api/video/" + testID + "/resolutions", full(`{"resolution":1`, `,"":0`, "}")},
	}
	test := func(name, path, body, key string, want int) {
		t.Run(fmt.Sprintf("%s: %d", name, want), func(t *testing.T) {
			peak := peakMemory(func() { sendFlood(t, server.URL+path, key, body, want) })
			t.Logf("it took %d MiB", peak>>20)
			if peak > maxFloodMemory {
				t.Errorf("the process had %d MiB; want at most %d", peak>>20, maxFloodMemory>>20)
			}
		})
	}
	if raceDetector { // which makes decoding many times slower; runs without it send them all
		floods = floods[:2]
	}
	for _, f := range floods {
		test(f.name, f.path, f.body, read, http.StatusForbidden)
		test(f.name, f.path, f.body, r.key, http.StatusBadRequest)
	}
	test("no valid key", create, floods[0].body, "unknown", http.StatusUnauthorized)
}

// sendFlood sends a body 16 times at once.
func sendFlood(t *testing.T, url, key, body string, want int) {
	var flood sync.WaitGroup
	for range 16 {
		flood.Go(func() {
			status, size, err := send(t, url, key, body)
			for err == nil && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) { // on a slow machine
				status, size, err = send(t, url, key, body)
			}
			if err != nil || status != want || size > 8<<10 {
				t.Errorf("the answer is %d with %d bytes, %v; want %d", status, size, err, want)
			}
		})
	}
	flood.Wait()
}

func send(t *testing.T, url, key, body string) (status, size int, err error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set(headerKey, key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, len(answer), err
}

// peakMemory returns how much memory the process used at most while f ran.
func peakMemory(f func()) (peak uint64) {
	runtime.GC()
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			peak = max(peak, memoryInUse())
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	<-sampled
	return peak
}

// memoryInUse is the memory of the Go runtime without what it does not use now.
func memoryInUse() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64() - samples[2].Value.Uint64()
}
