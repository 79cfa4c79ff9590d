package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/access"
	"github.com/spool-video/spool/internal/web/connections"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/health"
	"github.com/spool-video/spool/internal/web/problem"
)

// service is what wire returns: the parts of the program, ready to run.
type service struct {
	handler   http.Handler                    // API, uploads and playback
	ready     func(context.Context) error     // whether the database and the storage respond
	trace     func(http.Handler) http.Handler // traces requests; nil: they are not traced
	sent      func(video.ID, int64)           // is told how much was sent of a video; nil: nothing counts it
	follow    func(context.Context)           // feeds event streams; nil: there are none
	interrupt func()                          // interrupts requests that may take hours and can be resumed; nil: there are none
	start     func(context.Context) error     // begins to take tasks
	stop      func(context.Context) error     // returns running tasks to the queue
	close     func() error                    // after stop: nothing may be used afterwards
	sandbox   string                          // how ffmpeg is confined
	firstKey  string                          // the API key that this start made, or ""
	firstLink string                          // what the link ends with that signs in with this key, once
}

// server runs a service behind HTTP until it is told to stop.
type server struct {
	service *service
	health  *health.Health
	http    *http.Server   // for clients
	proxied *http.Server   // for trusted proxies
	trusted []netip.Prefix // proxies
	probes  *http.ServeMux // also served to operators
	log     *slog.Logger
	stopTimeouts
}

// stopTimeouts limit how long a stop takes.
type stopTimeouts struct {
	grace time.Duration // in total
	drain time.Duration // part of grace: requests are still served while /readyz responds with 503
}

// newServer puts the HTTP edge around svc. Connections of trusted proxies are not bounded by address.
func newServer(svc *service, m *metrics.Metrics, log *slog.Logger, t stopTimeouts, trusted []netip.Prefix) *server {
	h := health.New(svc.ready, svc.sandbox)
	probe := http.NewServeMux()
	h.Register(probe)
	probe.Handle("GET /metrics", m.Handler(log))
	logged := access.Log(problem.Recover(dispatch(problem.Mux(probe), svc.handler)), log, m, time.Now, trusted, svc.sent)
	traced := logged
	if svc.trace != nil {
		traced = svc.trace(traced)
	}
	guarded := delivery.Guard(problem.RequestID(log, traced), delivery.Timeouts{})
	s := &server{service: svc, health: h, probes: probe, log: log, stopTimeouts: t, trusted: trusted}
	s.http, s.proxied = s.newHTTP(guarded), s.newHTTP(guarded)
	s.http.ConnState = connections.State
	s.proxied.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// newHTTP returns a server that speaks HTTP/1. Only trusted proxies may begin with HTTP/2 as well, since a
// connection of it is a hundred. There is no upgrade from HTTP/1, with which requests could be smuggled past a proxy.
func (s *server) newHTTP(handler http.Handler) *http.Server {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return &http.Server{
		Handler: handler,
		// Headers must arrive quickly. There is no limit for a whole request or
		// response, since videos are large; Guard ends those that make no progress.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          newErrorLog(s.log),
		Protocols:         p,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: time.Minute, SendPingTimeout: time.Minute},
	}
}

// maxStreams is how many requests a connection of HTTP/2 may have open. A request that its client has
// reset counts until its handler has ended, and clients that go on opening others are disconnected.
const maxStreams = 100

// dispatch sends probes to one handler and everything else to the other. A mux would
// redirect to the clean form of a path before either of them sees it.
func dispatch(probe, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if health.IsProbe(r.URL.Path) {
			probe.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// run serves ln until stop ends, and returns when everything has stopped. Tasks and
// requests run in ctx, which must outlast stop: they have the grace time to end by
// themselves.
func (s *server) run(ctx, stop context.Context, ln net.Listener) error {
	clients, proxied := connections.Bound(ln, clientConnections(), s.trusted, s.log)
	if err := s.service.start(ctx); err != nil {
		return errors.Join(fmt.Errorf("start the queue: %w", err), ln.Close(), s.service.close())
	}
	if s.service.interrupt != nil {
		s.http.RegisterOnShutdown(s.service.interrupt)
	}
	unfollow := s.follow(ctx)
	broken := make(chan error, 2)
	for h, on := range map[*http.Server]net.Listener{s.http: clients, s.proxied: proxied} {
		h.BaseContext = func(net.Listener) context.Context { return ctx }
		go func() { broken <- panics.Catch(func() error { return h.Serve(on) }) }()
	}

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

// follow feeds event streams. They would not end by themselves, so they end as soon as
// new requests are refused; clients then reconnect to another process. The function
// that it returns waits until the streams no longer use the database.
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

// shutDown ends requests and tasks at the same time, within the grace time. Those that
// do not end by themselves are cut off. That loses nothing but time: uploads leave
// nothing behind, and tasks continue after the next start.
func (s *server) shutDown(ctx context.Context) {
	s.health.Stop()
	// Some of the time is reserved for cutting off and closing.
	ctx, cancel := context.WithTimeout(ctx, s.grace-min(2*time.Second, s.grace/4))
	defer cancel()

	var all panics.Group
	for _, h := range []*http.Server{s.http, s.proxied} {
		all.Go(func() {
			time.Sleep(s.drain)
			if err := h.Shutdown(ctx); err != nil {
				s.log.Warn("cutting off requests that did not end in time", "err", err)
				_ = h.Close() // it fails only for connections that are closed already
			}
		})
	}
	all.Go(func() {
		if err := s.service.stop(ctx); err != nil {
			s.log.Warn("tasks did not stop in time; they continue after the next start", "err", err)
		}
	})
	all.Wait()
}
