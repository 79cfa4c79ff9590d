// Package direct answers plain requests for files on the connections on which they come, with less work
// than net/http: it starts no goroutine for each of them, and the head of an answer leaves in one packet
// with the first bytes of the file.
//
// It knows few requests: GET and HEAD without a body, below one path, written in the most ordinary way.
// The handler is that of the whole server. A connection that brings anything else, be it only a header
// that needs thought, is passed on to net/http with every byte that was read and not answered. So net/http
// decides about all that is unusual, and nothing is parsed in two ways: what is accepted here means the same
// to net/http, which a fuzz test checks. A connection that goes on with plain requests is taken back.
//
// Nobody reads from a connection while a request is answered, so the context of a request does not end when
// its client leaves: the handler finds out when it writes. That is soon where files lie on a local disk. It is
// not where each byte is fetched from elsewhere first, and this package is of no use there.
package direct

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says what is answered here, and for how long a client may do nothing. All but Refusal is needed.
type Config struct {
	// Handler answers requests. It must not use what belongs to a request after it has returned.
	Handler http.Handler
	// Prefix is where the paths begin that are answered here.
	Prefix string
	// HeaderTimeout is how long the first request of a connection may take; net/http counts again for
	// one that comes in pieces.
	HeaderTimeout time.Duration
	// IdleTimeout is how long a connection is kept without a request.
	IdleTimeout time.Duration
	// Refusal returns what is sent in place of what net/http writes by itself, or nil.
	Refusal func([]byte) []byte
	Log     *slog.Logger
}

// Listener answers what it can of the connections that another listener accepts. Accept returns the
// rest of them, for http.Server.
type Listener struct {
	net.Listener
	config Config
	ctx    context.Context

	passed chan accepted
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	conns    map[*conn]struct{}
	stopping atomic.Bool
	all      sync.WaitGroup // of conns
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

// Listen begins to accept the connections of ln. Requests run in ctx.
func Listen(ctx context.Context, ln net.Listener, config Config) *Listener {
	l := &Listener{Listener: ln, config: config, ctx: ctx, passed: make(chan accepted), closed: make(chan struct{}), conns: map[*conn]struct{}{}}
	go l.acceptAll()
	return l
}

// acceptAll ends with the listener, whose last error is Accept's.
func (l *Listener) acceptAll() {
	var pause time.Duration
	for {
		c, err := l.Listener.Accept()
		if isTemporary(err) {
			pause = min(max(2*pause, minPause), maxPause)
			l.config.Log.Warn("a connection could not be accepted; trying again", "err", err, "after", pause.String())
			select {
			case <-time.After(pause):
				continue
			case <-l.closed:
				return
			}
		}
		if err != nil {
			l.pass(accepted{err: err})
			return
		}
		pause = 0
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			l.pass(accepted{conn: c})
			continue
		}
		go func() {
			c := l.open(tcp, waiting)
			if c == nil {
				tcp.Close()
				return
			}
			c.serve(l.config.HeaderTimeout)
		}()
	}
}

// How long acceptAll waits after errors that pass: those of http.Server.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// isTemporary reports whether connections can be accepted again soon, for instance when others have been
// closed.
func isTemporary(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && number.Temporary()
}

// pass hands something to Accept. It closes the connection if nobody accepts any more.
func (l *Listener) pass(a accepted) {
	select {
	case l.passed <- a:
	case <-l.closed:
		if a.conn != nil {
			a.conn.Close()
		}
	}
}

// Accept returns a connection that is not, or no longer, answered here.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.passed:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. Connections that are answered here stay open until Shutdown.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Shutdown closes connections that wait for a request, and the others after their answer. It returns
// when all are closed, or the error of ctx.
func (l *Listener) Shutdown(ctx context.Context) error {
	l.stopping.Store(true)
	l.each(func(c *conn) { c.stop() })
	done := make(chan struct{})
	go func() {
		l.all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Abort closes all connections that are answered here.
func (l *Listener) Abort() { l.each(func(c *conn) { c.tcp.Close() }) }

func (l *Listener) each(f func(*conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		f(c)
	}
}

// add registers a connection, unless a Shutdown has begun.
func (l *Listener) add(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping.Load() {
		return false
	}
	l.conns[c] = struct{}{}
	l.all.Add(1)
	return true
}

func (l *Listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	l.all.Done()
}
