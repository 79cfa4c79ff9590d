package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/metrics"
)

func TestAdminListenIsNotThePublicAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listen, admin string
		fine          bool
	}{
		{"127.0.0.1:8080", "", true},
		{"127.0.0.1:8080", "127.0.0.1:9090", true},
		{"10.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:0", "127.0.0.1:0", true},
		{"127.0.0.1:8080", "127.0.0.1:8080", false},
		{":8080", "127.0.0.1:8080", false},
		{"127.0.0.1:8080", "0.0.0.0:8080", false},
		{"[::]:8080", "127.0.0.1:8080", false},
		{"127.0.0.1:8080", "9090", false},
	} {
		c := &Config{Listen: tt.listen, AdminListen: tt.admin}
		if faults := c.adminFaults(); (len(faults) == 0) != tt.fine {
			t.Errorf("listen %q with admin_listen %q has the faults %q", tt.listen, tt.admin, faults)
		}
	}
}

func TestAdminListenerWarnsOthers(t *testing.T) {
	t.Parallel()
	for address, warned := range map[string]bool{"127.0.0.1:0": false, ":0": true} {
		var out bytes.Buffer
		c := &Config{AdminListen: address}
		ln, err := c.listenAdmin(slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
		if got := strings.Contains(out.String(), "only operators"); got != warned {
			t.Errorf("%s: the log warns: %v, want %v", address, got, warned)
		}
	}
}

// Profiles belong to the operator, and to nobody else.
func TestProfilesAreOnTheAdminListenerOnly(t *testing.T) {
	t.Parallel()
	public := runEdge(t)
	s := newServer(&service{ready: func(context.Context) error { return nil }, handler: http.NotFoundHandler()}, metrics.New("test"), slog.New(slog.DiscardHandler), stopTimeouts{grace: time.Second}, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.serveAdmin(ln)()
	admin := "http://" + ln.Addr().String()
	for path, want := range map[string]string{
		"/debug/pprof/":        "goroutine",
		"/debug/pprof/heap":    "",
		"/debug/pprof/cmdline": "spool",
		"/metrics":             "spool_build_info",
		"/healthz":             `"ok"`,
		"/readyz":              `"ready"`,
	} {
		if status, body := fetch(t, admin+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the admin listener answers %s with %d %.80q", path, status, body)
		}
		if !strings.HasPrefix(path, "/debug") {
			continue
		}
		if status, body := fetch(t, public.url+path); status != http.StatusNotFound || strings.Contains(body, "goroutine") {
			t.Errorf("the public listener answers %s with %d %.80q", path, status, body)
		}
	}
	for _, path := range []string{"/", "/api/video", "/v/x/720p.mp4", "/debug"} {
		if status, _ := fetch(t, admin+path); status != http.StatusNotFound {
			t.Errorf("the admin listener answers %s with %d, want 404", path, status)
		}
	}
}

func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
