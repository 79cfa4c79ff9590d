package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/video"
)

// running is a server on a free port, around a service whose parts the test holds.
type running struct {
	url    string
	server *server
	stop   context.CancelFunc
	ended  chan error
	calls  chan string // start, stop and close, in the order they happened
}

// runServer starts a server around svc; unset parts of it do nothing.
func runServer(t *testing.T, svc *service, limits stopTimeouts, trusted ...netip.Prefix) *running {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := &running{url: "http://" + ln.Addr().String(), stop: cancel, ended: make(chan error, 1), calls: make(chan string, 10)}
	note := func(name string, f func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			r.calls <- name
			if f == nil {
				return nil
			}
			return f(ctx)
		}
	}
	svc.start, svc.stop = note("start", svc.start), note("stop", svc.stop)
	svc.close = func() error { r.calls <- "close"; return nil }
	if svc.ready == nil {
		svc.ready = func(context.Context) error { return nil }
	}
	if svc.handler == nil {
		svc.handler = http.NotFoundHandler()
	}
	r.server = newServer(svc, metrics.New("test"), slog.New(slog.DiscardHandler), limits, trusted)
	go func() { r.ended <- r.server.run(context.WithoutCancel(t.Context()), stop, ln) }()
	return r
}

func (r *running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(r.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Fatalf("run ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server did not stop")
	}
	close(r.calls)
	var order []string
	for c := range r.calls {
		order = append(order, c)
	}
	if got := strings.Join(order, " "); got != "start stop close" {
		t.Errorf("the service's parts were called in the order %q, want start stop close", got)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var trouble atomic.Pointer[error]
	r := runServer(t, &service{ready: func(context.Context) error {
		if p := trouble.Load(); p != nil {
			return *p
		}
		return nil
	}}, stopTimeouts{grace: time.Second})
	set := func(err error) {
		trouble.Store(&err)
		time.Sleep(time.Second) // until the last result is not used any more
	}

	if code, body := r.get(t, "/healthz"); code != 200 || body != "{\"status\":\"ok\"}\n" {
		t.Errorf("/healthz = %d %s", code, body)
	}
	if code, body := r.get(t, "/readyz"); code != 200 || !strings.Contains(body, `"status":"ready"`) {
		t.Errorf("/readyz = %d %s", code, body)
	}
	if code, body := r.get(t, "/metrics"); code != 200 || !strings.Contains(body, `route="/readyz"`) {
		t.Errorf("/metrics = %d and does not count the requests before", code)
	}
	set(&video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "The database does not answer."})
	wantProblem(t, r, "database_unavailable", "The database does not answer.")
	set(errors.New("open /srv/spool.db: permission denied"))
	wantProblem(t, r, "not_ready", "A part of the service does not answer.")
	set(nil)
	r.server.health.Stop()
	wantProblem(t, r, "stopping", "The service is stopping.")
	r.stop()
	r.wait(t)
}

func wantProblem(t *testing.T, r *running, code, detail string) {
	t.Helper()
	status, body := r.get(t, "/readyz")
	var p struct{ Code, Detail string }
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	if status != http.StatusServiceUnavailable || p.Code != code || p.Detail != detail {
		t.Errorf("/readyz = %d %s; want 503, %s, %q", status, body, code, detail)
	}
}

func TestAStopLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	r := runServer(t, &service{handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		close(entered)
		<-release
		io.WriteString(w, "whole")
	})}, stopTimeouts{grace: 10 * time.Second})
	answer := make(chan string, 1)
	go func() {
		_, body := r.get(t, "/v/slow")
		answer <- body
	}()
	<-entered
	r.stop()
	for refused := false; !refused; { // a new connection finds the door closed
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if refused = err != nil; !refused {
			c.Close()
		}
	}
	close(release)
	if got := <-answer; got != "whole" {
		t.Errorf("the request under way got %q, want its whole answer", got)
	}
	r.wait(t)
}

// TestAStopIsAnnouncedFirst is about load balancers: they learn from /readyz that they are to send requests
// elsewhere, and the connections that they open until then are still answered.
func TestAStopIsAnnouncedFirst(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	r := runServer(t, &service{
		handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "whole") }),
		stop:    func(context.Context) error { close(stopping); return nil },
	}, stopTimeouts{grace: 20 * time.Second, drain: 5 * time.Second})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // each request is a new connection
	status := func(path string) int {
		resp, err := client.Get(r.url + path)
		if err != nil {
			t.Fatalf("while the stop is announced: %v", err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := status("/readyz"); got != http.StatusOK {
		t.Fatalf("/readyz = %d before the stop", got)
	}
	r.stop()
	<-stopping
	for range 4 { // a second, of the five that it takes
		time.Sleep(250 * time.Millisecond)
		if ready, file := status("/readyz"), status("/v/film.mp4"); ready != http.StatusServiceUnavailable || file != http.StatusOK {
			t.Fatalf("while the stop is announced /readyz = %d and a file %d; want 503 and 200", ready, file)
		}
	}
	r.wait(t)
}

// TestARequestEndsWithItsClient is about files that each request has to fetch from elsewhere.
func TestARequestEndsWithItsClient(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan struct{})
	r := runServer(t, &service{handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		close(entered)
		<-req.Context().Done()
		close(left)
	})}, stopTimeouts{grace: time.Second})
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "GET "+"/v/film.mp4 HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	c.Close()
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("the request goes on without its client")
	}
	r.stop()
	r.wait(t)
}

func TestAStopEndsWithinTheGraceTime(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	r := runServer(t, &service{
		handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			close(entered)
			<-req.Context().Done() // ends only when the connection is cut
		}),
		stop: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	}, stopTimeouts{grace: time.Second})
	go http.Get(r.url + "/endless")
	<-entered
	start := time.Now()
	r.stop()
	r.wait(t)
	if took := time.Since(start); took > 30*time.Second { // without a grace time it would never end
		t.Errorf("the stop took %s, far more than the grace time of 1s", took)
	}
}

func TestAQueueThatDoesNotStartEndsTheServer(t *testing.T) {
	t.Parallel()
	r := runServer(t, &service{start: func(context.Context) error { return errors.New("no table") }}, stopTimeouts{grace: time.Second})
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "no table") {
		t.Errorf("run ended with %v", err)
	}
	if c := [2]string{<-r.calls, <-r.calls}; c != [2]string{"start", "close"} {
		t.Errorf("the service's parts were called in the order %q, want start close", c)
	}
}

// A start waits for a database or a storage that does not answer; a signal ends it
// then at once. The test is not parallel: it sends signals to the process of all tests.
func TestASignalEndsAStartThatWaits(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	exited, ended := make(chan int, 1), make(chan int, 1)
	p, _, stderr := newProcess(nil, nil)
	p.exit = func(code int) { exited <- code }
	go func() {
		ended <- p.run(ctx, []string{
			"serve", "--role=api", "--listen=127.0.0.1:0", "--data-dir=" + t.TempDir(), "--storage-url=s3://films?endpoint=http://127.0.0.1:1",
			"--database-url=postgres://spool@" + silent.Addr().String() + "/spool",
		})
	}()
	if _, err := silent.Accept(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-exited:
		if code != exitOK {
			t.Errorf("exits with %d, want %d", code, exitOK)
		}
	case <-ended:
		t.Fatalf("the start went on waiting, and said %q", stderr)
	}
	cancel()
	<-ended
}

func TestSignalsStop(t *testing.T) {
	stop, release := untilSignal(t.Context(), func(int) { t.Error("the first signal left no time to stop") })
	defer release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-stop.Done()
}

func TestRepeatedSignals(t *testing.T) {
	const term, interrupt = syscall.SIGTERM, syscall.SIGINT
	for _, tt := range []struct {
		name          string
		first, second os.Signal
		after         time.Duration
		exits         bool
	}{
		{"Ctrl-C, and again", interrupt, interrupt, 2 * time.Second, true},
		{"Ctrl-C after SIGTERM", term, interrupt, 2 * time.Second, true},
		{"Ctrl-C that a parent passed on", interrupt, interrupt, 10 * time.Millisecond, false},
		{"SIGTERM of a group and of its parent", term, term, 0, false},
		{"SIGTERM that is repeated", term, term, 5 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal)
				var stopped, exited bool
				go handleSignals(signals, func() { stopped = true }, func(int) { exited = true })
				signals <- tt.first
				time.Sleep(tt.after)
				signals <- tt.second
				synctest.Wait()
				if !stopped || exited != tt.exits {
					t.Errorf("stopped: %t, exited: %t; want true and %t", stopped, exited, tt.exits)
				}
				close(signals)
			})
		})
	}
}
