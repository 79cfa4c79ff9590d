package doctor

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/web/health"
)

// behind returns a service, as far as the doctor asks it, and what reaches it through a proxy.
func behind(t *testing.T, proxy func(service *url.URL) http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	health.New(nil, "").Register(mux)
	mux.HandleFunc("PUT /upload/", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"status":403,"code":"url_invalid"}`)
	})
	service := httptest.NewServer(mux)
	t.Cleanup(service.Close)
	address, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(proxy(address))
	t.Cleanup(front.Close)
	return front.URL
}

// straight is a proxy that passes everything on as it comes.
func straight(service *url.URL) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(service) }, FlushInterval: -1}
}

// storing is a proxy that has all of a request before it passes it on, and all of an answer.
func storing(service *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		res, err := http.Get(service.String() + r.URL.Path)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		var all bytes.Buffer
		_, _ = all.ReadFrom(res.Body)
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		_, _ = w.Write(all.Bytes())
	})
}

// limiting is a proxy that refuses large bodies, and ends streams.
func limiting(service *url.URL) http.Handler {
	next := straight(service)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.ContentLength > 1<<30:
			http.Error(w, "<html>", http.StatusRequestEntityTooLarge)
		case r.URL.Path == health.EventsPath:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: 1\n\n")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func TestTheDoctorKnowsProxies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		proxy          func(*url.URL) http.Handler
		bodies, events Finding
	}{
		"straight": {straight, Finding{Result: OK, Text: "uploads of 5120 MiB pass"}, Finding{Result: OK, Text: "events pass"}},
		"storing":  {storing, Finding{Result: Warning, Text: "takes whole uploads before"}, Finding{Result: Warning, Text: "holds events back"}},
		"limiting": {limiting, Finding{Result: Failure, Text: "refuses an upload of 5120 MiB"}, Finding{Result: Warning, Text: "ends a stream of events early"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, found := doctorFor(Config{BaseURL: behind(t, tt.proxy), MaxUploadBytes: 5 << 30})
			d.checkBaseURL(t.Context())
			if len(*found) != 3 {
				t.Fatalf("found %+v", *found)
			}
			wantFinding(t, (*found)[:2], tt.bodies.Result, tt.bodies.Text)
			wantFinding(t, *found, tt.events.Result, tt.events.Text)
		})
	}
}

func TestTheDoctorComparesClocks(t *testing.T) {
	t.Parallel()
	d, found := doctorFor(Config{BaseURL: behind(t, straight)})
	d.now = func() time.Time { return time.Now().Add(time.Hour) }
	d.checkBaseURL(t.Context())
	wantFinding(t, (*found)[:2], Warning, "differ by 1h0m")
}

func TestTheDoctorReachesWebhooks(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.URL.Path != "/" {
			t.Errorf("it sends %s %s", r.Method, r.URL)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(srv.Close) // after the parallel ones
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for name, tt := range map[string]struct {
		address      string
		allow        []string
		result, text string
	}{
		"there":       {srv.URL + "/hooks/secret", []string{"127.0.0.1"}, OK, srv.URL + " is reached"},
		"not allowed": {srv.URL + "/hook", nil, Warning, "is not reached: The address is not allowed"},
		"nobody":      {nobody.URL, []string{"127.0.0.1"}, Warning, "refused the connection"},
		"nonsense":    {"::", nil, Warning, "is not reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, found := doctorFor(Config{DataDir: t.TempDir(), OutboundAllow: tt.allow})
			d.Webhooks = []string{tt.address}
			d.checkWebhooks(t.Context())
			wantFinding(t, *found, tt.result, tt.text)
		})
	}
	d, found := doctorFor(Config{DataDir: t.TempDir()})
	d.checkWebhooks(t.Context())
	wantFinding(t, *found, OK, "none is registered")
}

func TestTheDoctorNamesTheRightFix(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{syscall.EROFS, "mount the file system for writing"}, {syscall.ENOSPC, "remove something"}, {syscall.EACCES, "chown"},
		{syscall.EIO, "log of the kernel"}, {fmt.Errorf("%w: %w", errNoLinks, syscall.EPERM), "hard links"},
	} {
		if got := folderFix(&fs.PathError{Op: "open", Path: "/x", Err: tt.err}); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %s; want %q", tt.err, got, tt.want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, datadir.Database), bytes.Repeat([]byte("rubbish "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	d, found := doctorFor(Config{DataDir: dir})
	d.checkDatabase(t.Context())
	if len(*found) != 1 || !strings.Contains((*found)[0].Fix, "restore a backup") {
		t.Errorf("a damaged database: %+v", *found)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"status":"fine"}`) }))
	defer srv.Close()
	d, found = doctorFor(Config{BaseURL: srv.URL})
	d.checkBaseURL(t.Context())
	if len(*found) != 1 || !strings.Contains((*found)[0].Text, "another program answers") {
		t.Errorf("another program: %+v", *found)
	}
}
