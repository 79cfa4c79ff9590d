package problem

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, sent string
		kept       bool
	}{
		{"a safe ID is kept", "Ab.9_-", true},
		{"64 characters are kept", strings.Repeat("a", 64), true},
		{"65 are not", strings.Repeat("a", 65), false},
		{"a line break is not", "a\nb", false},
		{"a missing one is generated", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Request-Id", tt.sent)
			w := httptest.NewRecorder()
			var inside string
			RequestID(slog.Default(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inside = ID(r.Context()) })).ServeHTTP(w, r)
			if got := w.Header().Get("X-Request-Id"); got != inside || got == "" || (got == tt.sent) != tt.kept {
				t.Errorf("sent %q: header %q, context %q", tt.sent, got, inside)
			}
		})
	}
}

func TestMux(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /a/{x}", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.PathValue("x")) })
	mux.HandleFunc("DELETE /a/{x}", func(http.ResponseWriter, *http.Request) {})

	t.Run("a known path is served with its values", func(t *testing.T) {
		w := httptest.NewRecorder()
		Mux(mux).ServeHTTP(w, httptest.NewRequest("GET", "/a/b", nil))
		if w.Code != 200 || w.Body.String() != "b" {
			t.Errorf("answer is %d %q", w.Code, w.Body)
		}
	})
	t.Run("an unknown path is a problem", func(t *testing.T) {
		_, p, log := answer(t, Mux(mux), httptest.NewRequest("GET", "/b", nil))
		if p.Status != 404 || p.Code != "not_found" || p.Instance != "/b" || log != "" {
			t.Errorf("problem is %+v, log %q", p, log)
		}
	})
	t.Run("another method is a problem that names the right ones", func(t *testing.T) {
		w, p, _ := answer(t, Mux(mux), httptest.NewRequest("PATCH", "/a/b", nil))
		if p.Status != 405 || p.Code != "method_not_allowed" || w.Header().Get("Allow") != "DELETE, GET, HEAD" {
			t.Errorf("problem is %+v, Allow %q", p, w.Header().Get("Allow"))
		}
	})
}

func TestRecoverAnswersForAPanic(t *testing.T) {
	t.Parallel()
	h := Recover(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") }))
	_, p, log := answer(t, h, httptest.NewRequest("GET", "/x", nil))
	if p.Status != 500 || p.Code != "internal" {
		t.Errorf("problem is %+v", p)
	}
	if !strings.Contains(log, "panic: broken") || !strings.Contains(log, "middleware_test.go") || strings.Count(log, "\n") != 1 {
		t.Errorf("log lacks the panic or its stack, or has it twice: %s", log)
	}
}

func TestRecoverAbortsAResponseThatHasBegun(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := Recover(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("broken")
	}))
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("recovered %v, want http.ErrAbortHandler", v)
		}
		if !strings.Contains(log.String(), "panic: broken") {
			t.Errorf("log is %q", log.String())
		}
	}()
	RequestID(slog.New(slog.NewTextHandler(&log, nil)), h).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

// readerFrom is a writer that, like the server's, has ReadFrom.
type readerFrom struct {
	*httptest.ResponseRecorder
	took io.Reader
}

func (f *readerFrom) ReadFrom(r io.Reader) (int64, error) {
	f.took = r
	return io.Copy(f.ResponseRecorder, r)
}

func TestRecoverKeepsSendfilePossible(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
	Recover(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, path)
	})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))

	limited, ok := w.took.(*io.LimitedReader)
	if !ok {
		t.Fatalf("ReadFrom got a %T, want an *io.LimitedReader", w.took)
	}
	if _, ok := limited.R.(*os.File); !ok {
		t.Errorf("ReadFrom got a %T, want an *os.File", limited.R)
	}
}
