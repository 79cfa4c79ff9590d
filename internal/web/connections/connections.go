// Package connections bounds what clients take with connections alone, by the network that they come from: how
// many they have, and how many bytes the heads of their requests take. Nothing of a client is known before its
// request is read, so the connections of trusted proxies, which many clients share, have no bounds here.
//
// They have a listener of their own, because only they may speak HTTP/2 without TLS.
package connections

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/limit"
)

const (
	// clientConnections is how many connections a client may have while few are left, and allConnections how
	// many there are.
	clientConnections = 256
	allConnections    = 16_384
	// clientHeads is how many bytes the heads of a client's requests may take while few are left, and allHeads
	// is the sum for all clients. A head counts until its request is answered.
	clientHeads = 512 << 10
	allHeads    = 16 << 20
)

// Listener accepts the connections of clients, and closes those that are too many. The Server's ConnState must be State.
type Listener struct {
	net.Listener
	trusted  []netip.Prefix
	proxies  *proxies
	places   *limit.Places[netip.Prefix]
	heads    *limit.Places[netip.Prefix]
	log      *slog.Logger
	warnings rate.Sometimes
}

// Bound returns a listener on ln for clients, of whose connections files at most are open, and one for trusted
// proxies, which must be served as well.
func Bound(ln net.Listener, files int64, trusted []netip.Prefix, log *slog.Logger) (clients *Listener, proxied net.Listener) {
	p := &proxies{addr: ln.Addr(), accepted: make(chan net.Conn), closed: make(chan struct{})}
	return &Listener{
		Listener: ln, trusted: trusted, proxies: p,
		places:   limit.NewPlaces[netip.Prefix](clientConnections, min(allConnections, files)),
		heads:    limit.NewPlaces[netip.Prefix](clientHeads, allHeads),
		log:      log,
		warnings: rate.Sometimes{Interval: time.Minute},
	}, p
}

// Accept returns the next connection of a client that has a place for it.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := accepted.(*net.TCPConn)
		if !ok {
			return accepted, nil
		}
		peer := tcp.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		if limit.Contains(l.trusted, peer) {
			l.proxies.pass(tcp)
			continue
		}
		client := limit.NetworkOf(peer)
		release, err := l.places.TryAcquire(client, 1)
		if err != nil {
			_ = tcp.Close() // nothing was sent
			l.warn()
			continue
		}
		return &conn{TCPConn: tcp, listener: l, client: client, release: release, reading: true}, nil
	}
}

func (l *Listener) warn() {
	l.warnings.Do(func() {
		l.log.Warn("a client has as many connections, or bytes in unfinished requests, as it may; more are closed")
	})
}

// conn is a connection of a client.
type conn struct {
	*net.TCPConn // whole, so that the kernel goes on sending files
	listener     *Listener
	client       netip.Prefix

	mu      sync.Mutex
	release func()   // of its place; nil: it is closed
	reading bool     // the head of a request
	heads   []func() // release what the head takes
}

var errTooManyHeads = errors.New("the heads of a client's requests take more than its share")

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 && !c.count(int64(n)) {
		c.listener.warn()
		return 0, errTooManyHeads
	}
	return n, err
}

// count counts bytes that were read if they belong to the head of a request. It reports whether the client
// may keep them.
func (c *conn) count(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reading || c.release == nil {
		return true
	}
	release, err := c.listener.heads.TryAcquire(c.client, n)
	if err != nil {
		return false
	}
	c.heads = append(c.heads, release)
	return true
}

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.release != nil {
		c.release()
		c.release = nil
	}
	c.releaseHeads()
	return c.TCPConn.Close()
}

func (c *conn) releaseHeads() {
	for _, release := range c.heads {
		release()
	}
	c.heads = nil
}

// State is the ConnState of a server: it tells where the head of a request begins and ends.
func State(of net.Conn, state http.ConnState) {
	c, ok := of.(*conn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateActive:
		c.reading = false
	case http.StateIdle:
		c.reading = true
		c.releaseHeads()
	}
}

// proxies is the listener for trusted proxies.
type proxies struct {
	addr     net.Addr
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

// pass hands a connection to Accept.
func (p *proxies) pass(c net.Conn) {
	select {
	case p.accepted <- c:
	case <-p.closed:
		_ = c.Close() // nothing was sent
	}
}

func (p *proxies) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *proxies) Addr() net.Addr { return p.addr }

func (p *proxies) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}
