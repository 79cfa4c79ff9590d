package access

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/web/problem"
)

// logged sends one request through the access log, in front of a mux with
// routes like the service's, and returns the log line.
func logged(t *testing.T, method, target string, level slog.Level) map[string]any {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/video", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusCreated) })
	mux.HandleFunc("GET /v/{token}/{video}/{file}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "film") })
	mux.HandleFunc("GET /v/{video}/{file}", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("GET /console/{file}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "script") })
	mux.HandleFunc("GET /api/video/{id}/events", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "news") })
	mux.HandleFunc("GET /api/key", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	mux.HandleFunc("GET /cut", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
	h := problem.RequestID(log, Log(mux, log, metrics.New("test"), time.Now, nil, nil))

	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("X-API-KEY", "the-secret")
	r.Header.Set("X-Request-Id", "req-1")
	func() {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if out.Len() == 0 {
		return nil
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("the log line tells a secret: %s", out.String())
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, target string
		level, route         string
		status, bytes        float64
	}{
		{"an API call", "POST", "/api/video?token=secret", "INFO", "/api/video", 201, 0},
		{"playback", "GET", "/v/1.k.secret/id/720p.mp4", "DEBUG", "/v/{token}/{video}/{file}", 200, 4},
		{"playback that breaks", "GET", "/v/id/720p.mp4", "INFO", "/v/{video}/{file}", 502, 0},
		{"a part of a page", "GET", "/console/app.js", "DEBUG", "/console/{file}", 200, 6},
		{"a stream", "GET", "/api/video/1/events", "DEBUG", "/api/video/{id}/events", 200, 4},
		{"a request over a limit", "GET", "/api/key", "DEBUG", "/api/key", 429, 0},
		{"an unknown path", "GET", "/secret", "INFO", "unmatched", 404, 19},
		{"an answer cut off", "GET", "/cut", "INFO", "/cut", 200, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := logged(t, tt.method, tt.target, slog.LevelDebug)
			if got["level"] != tt.level || got["route"] != tt.route || got["status"] != tt.status || got["bytes"] != tt.bytes ||
				got["method"] != tt.method || got["request"] != "req-1" || got["duration"] == nil {
				t.Errorf("logged %v; want %+v", got, tt)
			}
		})
	}
	t.Run("playback is not shown at level info", func(t *testing.T) {
		t.Parallel()
		if line := logged(t, "GET", "/v/1.k.secret/id/720p.mp4", slog.LevelInfo); line != nil {
			t.Errorf("logged %v", line)
		}
	})
}

// readFromSpy is a response writer that knows whether it was given a file to
// send by itself.
type readFromSpy struct {
	http.ResponseWriter
	files   int
	flushed bool
}

func (s *readFromSpy) ReadFrom(src io.Reader) (int64, error) {
	if limited, ok := src.(*io.LimitedReader); ok { // as http.ServeContent hands it over
		src = limited.R
	}
	if _, ok := src.(*os.File); ok {
		s.files++
	}
	return io.Copy(s.ResponseWriter, src)
}

func (s *readFromSpy) Flush() { s.flushed = true }

func TestFilesStillGoOutByThemselves(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "film.mp4")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v/{file}", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		http.ServeContent(w, r, "film.mp4", time.Time{}, f)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("the wrapper hides Flush: %v", err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	m := metrics.New("test")
	h := Log(problem.Recover(mux), log, m, time.Now, nil, nil)
	spy := &readFromSpy{ResponseWriter: httptest.NewRecorder()}
	h.ServeHTTP(spy, httptest.NewRequest("GET", "/v/film.mp4", nil))

	if spy.files != 1 || !spy.flushed {
		t.Errorf("the writer below got %d files and was flushed: %v; want 1 and true", spy.files, spy.flushed)
	}
	w := httptest.NewRecorder()
	m.Handler(log).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), "\nspool_served_bytes_total{kind=\"film\"} 5000\n") || !strings.Contains(w.Body.String(), "\nspool_http_first_byte_seconds_count{kind=\"film\"} 1\n") {
		t.Error("the bytes of the film, or the time to the first of them, were not counted")
	}
}

// What comes from a bucket begins when its first byte is there, not when the header is written.
func TestTheFirstByteIsThatOfTheBody(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	clock := func() time.Time { return now }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v/{file}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = io.Copy(w, readerFunc(func(b []byte) (int, error) {
			if now = now.Add(300 * time.Millisecond); now.Sub(time.Unix(1000, 0)) > time.Second {
				return 0, io.EOF
			}
			return copy(b, "film"), nil
		}))
	})
	log, m := slog.New(slog.DiscardHandler), metrics.New("test")
	h := Log(mux, log, m, clock, nil, nil)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v/720p-3.m4s", nil))
	w := httptest.NewRecorder()
	m.Handler(log).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), "\nspool_http_first_byte_seconds_sum{kind=\"segment\"} 0.3\n") {
		t.Error("the first byte did not count from 0.3 s on")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
