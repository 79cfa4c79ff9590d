package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/service/panics"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/metrics"
	"github.com/spool-video/spool/internal/web/problem"
)

// service is what the parts, wired together, offer to the process that runs
// them. wire makes it.
type service struct {
	handler  http.Handler                // API, uploads and playback
	ready    func(context.Context) error // whether the database and the storage answer
	follow   func(context.Context)       // tell streams of events what happens; nil: there are none
	hurry    func()                      // end requests that may go on for hours, and lose nothing by it; nil: there are none
	start    func(context.Context) error // begin to take tasks
	stop     func(context.Context) error // hand running tasks back to the queue
	close    func() error                // after stop: nothing may be used any more
	sandbox  string                      // how ffmpeg is confined
	firstKey string                      // the API key that this very start made, else ""
}

// server runs a service behind HTTP until it is told to stop.
type server struct {
	service *service
	health  *health
	http    *http.Server
	log     *slog.Logger
	patience
}

// patience is how long a stop may take.
type patience struct {
	grace time.Duration // altogether
	drain time.Duration // of it, to go on answering after /readyz has said 503
}

// newServer puts the HTTP edge around svc.
func newServer(svc *service, m *metrics.Metrics, log *slog.Logger, p patience) *server {
	h := &health{ready: svc.ready, sandbox: svc.sandbox}
	answers := http.NewServeMux()
	answers.HandleFunc("GET /healthz", h.alive)
	answers.HandleFunc("GET /readyz", h.isReady)
	answers.Handle("GET /metrics", m.Handler(log))
	logged := &access{next: problem.Recover(dispatch(problem.Mux(answers), svc.handler)), log: log, metrics: m, now: time.Now}
	return &server{
		service: svc, health: h, log: log, patience: p,
		http: &http.Server{
			Handler: delivery.Guard(problem.RequestID(log, logged), delivery.Timeouts{}),
			// A client must say quickly what it wants. How long a film takes to
			// travel is its own affair: there is no limit on that, but Guard ends
			// what stands still.
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       60 * time.Second,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
	}
}

// dispatch sends the probes to one handler and all else to another. A mux would
// redirect to the clean form of a path before either has seen it.
func dispatch(probe, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r.URL.Path) {
			probe.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// run serves ln until stop ends, and returns when everything has come to rest.
// Tasks and requests live in ctx: it must outlast stop, since they are given
// the grace time to end by themselves.
func (s *server) run(ctx, stop context.Context, ln net.Listener) error {
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	if err := s.service.start(ctx); err != nil {
		return errors.Join(fmt.Errorf("start the queue: %w", err), ln.Close(), s.service.close())
	}
	if s.service.hurry != nil {
		s.http.RegisterOnShutdown(s.service.hurry)
	}
	unfollow := s.follow(ctx)
	broken := make(chan error, 1)
	go func() { broken <- panics.Catch(func() error { return s.http.Serve(ln) }) }()

	var failure error
	select {
	case <-stop.Done():
		s.log.Info("stopping", "grace", s.grace.String())
	case err := <-broken:
		failure = fmt.Errorf("serve HTTP: %w", err)
	}
	s.shutDown(ctx)
	unfollow()
	return errors.Join(failure, s.service.close())
}

// follow tells streams of events what happens. They end as soon as new requests
// are not accepted any more, since they would not end by themselves, and whoever
// connects again gets to another process then. What it returns waits until
// nobody uses the database for them.
func (s *server) follow(ctx context.Context) (wait func()) {
	if s.service.follow == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s.http.RegisterOnShutdown(cancel)
	var following sync.WaitGroup
	following.Go(func() {
		panics.Log(ctx, s.log, "following videos panicked; event streams end", func() { s.service.follow(ctx) })
	})
	return func() { cancel(); following.Wait() }
}

// shutDown ends requests and tasks, both at once, within the grace time. What
// does not end by itself is cut off: uploads leave nothing behind, and tasks
// go on after the next start, so this costs time but loses nothing.
func (s *server) shutDown(ctx context.Context) {
	s.health.stopping.Store(true)
	// Some time is kept back for cutting off and closing.
	ctx, cancel := context.WithTimeout(ctx, s.grace-min(2*time.Second, s.grace/4))
	defer cancel()

	var both panics.Group
	both.Go(func() {
		time.Sleep(s.drain)
		if err := s.http.Shutdown(ctx); err != nil {
			s.log.Warn("cutting off requests that did not end in time", "err", err)
			_ = s.http.Close() // closing a connection that is closed already is no trouble
		}
	})
	both.Go(func() {
		if err := s.service.stop(ctx); err != nil {
			s.log.Warn("tasks did not stop in time; they go on after the next start", "err", err)
		}
	})
	both.Wait()
}
