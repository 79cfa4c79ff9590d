package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/settings"
)

// ballastSize is memory that is reserved and never touched, so that it takes no page of the machine. The
// garbage collector counts it: it waits until twice as much is in use. Without it, the few megabytes of
// a server would be collected dozens of times a second while many videos are watched.
const ballastSize = 16 << 20

type serveCommand struct{ Config }

func (serveCommand) Help() string {
	return `Works without any configuration: SQLite, local disk and the workers are built
in. The first start creates an API key and prints it once. SIGTERM or Ctrl-C shuts
it down gracefully; transcoding continues after the next start. A second Ctrl-C
stops it at once.

    spool serve
    spool serve --listen=:8080 --data-dir=/var/lib/spool --base-url=https://video.example.com
    spool serve --config=/etc/spool.toml --log-level=debug
`
}

// Run runs the service until a signal stops it.
func (c *serveCommand) Run(ctx context.Context, p *process) error {
	// ffmpeg runs in folders of its own, where a relative path means another place.
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("find the data directory: %w", err)
	}
	c.DataDir = dir
	log := newLogger(p.stderr, c.LogFormat, c.LogLevel)
	stop, release := untilSignal(ctx, p.exit)
	defer release()

	if err := c.emergency().ReleaseIfFull(); err != nil {
		log.Warn("the free disk space could not be measured", "err", err)
	}
	lock, err := datadir.Lock(c.DataDir)
	if err != nil {
		return c.explainFullDisk(err)
	}
	defer lock.Unlock()

	// Listen first: a port that is taken must be found before a key is made and shown.
	ln, err := listen(c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	adminLn, err := c.listenAdmin(log)
	if err != nil {
		return err
	}
	if adminLn != nil {
		defer adminLn.Close()
	}

	m := metrics.New(buildVersion())
	// Starting may wait long for a database or a storage that does not respond. A signal
	// ends the process at once then: there is nothing to drain yet.
	started := context.AfterFunc(stop, func() { p.exit(exitOK) })
	svc, err := wireTraced(ctx, &c.Config, p.settings.Environ, log, m)
	started()
	if err != nil {
		return c.explainFullDisk(err)
	}
	p.logStart(log)
	log.Info("started", c.startAttributes(ln.Addr(), svc)...)
	if c.servesRequests() { // the welcome is for people who use the API
		if err := welcome(p.stdout, welcomeWords{
			Address: publicAddress(c.BaseURL, ln.Addr()), Key: svc.firstKey, Link: signInLink(ln.Addr(), svc.firstLink), Origin: c.keyOrigin(&p.settings),
		}); err != nil {
			log.Warn("the start-up text could not be printed", "err", err)
		}
	}
	ballast := make([]byte, ballastSize)
	srv := newServer(svc, m, log, stopTimeouts{grace: c.Grace, drain: c.Drain}, settings.Prefixes(c.TrustedProxies))
	defer srv.serveAdmin(adminLn)()
	err = srv.run(ctx, stop, ln)
	runtime.KeepAlive(ballast)
	if err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// logStart logs where the settings come from and what is unusual about the process.
func (p *process) logStart(log *slog.Logger) {
	if file := p.settings.Source(); file != "" {
		log.Info("settings read", "file", file)
	}
	if names := p.settings.Unknown(); len(names) > 0 {
		log.Warn("there are no such settings; spool serve --help lists them", "variables", names)
	}
	if p.settings.User == 0 {
		log.Warn("running as root, which Spool does not need; run it as a user of its own")
	}
}

// startAttributes describe a start in the log.
func (c *Config) startAttributes(at net.Addr, svc *service) []any {
	attrs := []any{"version", buildVersion(), "listen", at.String(), "role", c.Role, "dataDir", c.DataDir}
	if c.runsTasks() {
		attrs = append(attrs, "workers", c.workers(), "sandbox", svc.sandbox)
	}
	return attrs
}

// listen opens the address for requests.
func listen(address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program listens on %s already; stop it or choose another --listen", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s; choose another --listen, with a port above 1023", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is not an address of this machine; choose another --listen, such as :8080", address)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return ln, nil
}

// untilSignal returns a context that ends at the first SIGTERM or SIGINT.
func untilSignal(ctx context.Context, exit func(code int)) (stop context.Context, release func()) {
	stop, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go handleSignals(signals, cancel, exit)
	return stop, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// repeatWindow is how long after a signal its repetition is ignored: a terminal signals
// a whole group of processes, and some of them pass the signal on.
const repeatWindow = time.Second

// handleSignals stops the service at the first signal. A later Ctrl-C means that
// somebody does not want to wait, and exits at once. A later SIGTERM does not:
// supervisors repeat it, and kill the process themselves when they have waited long
// enough.
func handleSignals(signals <-chan os.Signal, stop func(), exit func(code int)) {
	if _, ok := <-signals; !ok {
		return
	}
	stop()
	first := time.Now()
	for s := range signals {
		if s == syscall.SIGINT && time.Since(first) > repeatWindow {
			exit(exitError)
			return
		}
	}
}
