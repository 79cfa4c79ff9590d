package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/web/problem"
)

// adminFaults returns what is wrong with the address for operators. It must not be the address for
// everybody: profiles show what the process does, and taking them costs it time.
func (c *Config) adminFaults() []string {
	if c.AdminListen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.AdminListen)
	if err != nil {
		return []string{fmt.Sprintf(`admin_listen is %q: it must be HOST:PORT, such as "127.0.0.1:9090".`, c.AdminListen)}
	}
	public, publicPort, _ := net.SplitHostPort(c.Listen) // a fault of its own is reported elsewhere
	if port == publicPort && port != "0" && (host == public || isAnyHost(host) || isAnyHost(public)) {
		return []string{fmt.Sprintf("admin_listen is %q, which is the address of listen: it shows the inside of the process, so give it a port of its own.", c.AdminListen)}
	}
	return nil
}

// isAnyHost reports whether a host means every address of the machine.
func isAnyHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.IsUnspecified()
}

// listenAdmin opens the address for operators. It returns nil if none is configured.
func (c *Config) listenAdmin(log *slog.Logger) (net.Listener, error) {
	if c.AdminListen == "" {
		return nil, nil
	}
	ln, err := listen(c.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("admin_listen: %w", err)
	}
	if a, ok := ln.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		log.Warn("admin_listen can be reached from other machines, and needs no key: make sure that only operators reach it", "address", ln.Addr().String())
	} else {
		log.Info("profiles, metrics and health are served to operators", "address", ln.Addr().String())
	}
	return ln, nil
}

// serveAdmin serves profiles, metrics and health on ln until the function that it returns is called.
func (s *server) serveAdmin(ln net.Listener) (stop func()) {
	if ln == nil {
		return func() {}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", problem.Mux(s.probes))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	admin := &http.Server{
		Handler: problem.RequestID(s.log, problem.Recover(mux)), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: newErrorLog(s.log),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = panics.Catch(func() error { return admin.Serve(ln) }) // it ends with stop
	}()
	return func() {
		_ = admin.Close() // a profile may be cut off
		<-done
	}
}
