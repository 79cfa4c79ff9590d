package pgtest

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Proxy sits between a client and a database. It can do to the client what a
// network, or the end of its process, would.
type Proxy struct {
	target   string // address of the database
	listener net.Listener

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	frozen chan struct{} // not nil while nothing passes; closed by Thaw
	cut    bool
	lose   string        // what the next statement says whose answer is lost; empty: none
	lost   chan struct{} // closed when it was
}

// NewProxy returns a proxy in front of the database at target.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: listener, open: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		p.Thaw()
		p.sever()
	})
	go p.serve()
	return p
}

// URL is the address of the database behind the proxy.
func (p *Proxy) URL() string {
	u, err := url.Parse(p.target)
	if err != nil {
		panic(err) // it was made by this package
	}
	u.Host, u.RawQuery = p.listener.Addr().String(), ""
	q := url.Values{"sslmode": {"disable"}, "application_name": {p.name()}}
	u.RawQuery = q.Encode()
	return u.String()
}

// name is how the server knows the connections of this proxy.
func (p *Proxy) name() string { return "proxy " + p.listener.Addr().String() }

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.handle(client)
	}
}

func (p *Proxy) handle(client net.Conn) {
	config, err := pgx.ParseConfig(p.target)
	if err != nil {
		client.Close()
		return
	}
	server, err := net.Dial("unix", config.Host+"/.s.PGSQL.5432")
	if err != nil {
		client.Close() // the server is gone, and so is the connection
		return
	}
	if !p.keep(client, server) {
		return
	}
	var mute atomic.Bool // the answer that comes next is lost
	go p.pass(client, server, func(said []byte) bool {
		if p.loses(said) {
			mute.Store(true)
		}
		return true
	})
	p.pass(server, client, func([]byte) bool { return !mute.Load() })
}

// keep notes connections for sever, unless it was called already.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.cut {
			c.Close()
		} else {
			p.open[c] = struct{}{}
		}
	}
	return !p.cut
}

// pass copies what one side says to the other until either ends, or may says no.
func (p *Proxy) pass(from, to net.Conn, may func(said []byte) bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if frozen := p.frost(); frozen != nil {
			<-frozen
		}
		if n > 0 {
			if !may(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) frost() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

// Freeze lets nothing pass while connections stay open and new ones
// are accepted, like a server that does not answer.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Thaw ends Freeze.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// LoseAnswer lets the server do the next statement that contains text, and ends
// the connection in place of passing its answer on. The channel is closed when
// the statement has come.
func (p *Proxy) LoseAnswer(text string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.lost = text, make(chan struct{})
	return p.lost
}

// loses reports whether the answer to this is to be lost.
func (p *Proxy) loses(said []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == "" || !bytes.Contains(said, []byte(p.lose)) {
		return false
	}
	p.lose = ""
	close(p.lost)
	return true
}

// Drop ends all connections; new ones are accepted.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
	clear(p.open)
}

func (p *Proxy) sever() {
	p.listener.Close()
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.Drop()
}

// Cut ends all connections for good and returns when the server has noticed:
// nothing that the client sent is under way any more.
func (p *Proxy) Cut(t testing.TB) {
	t.Helper()
	p.sever()
	conn, err := pgx.Connect(t.Context(), p.target)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	const end = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1`
	for n := 1; n > 0; {
		if err := conn.QueryRow(t.Context(), end, p.name()).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			time.Sleep(time.Millisecond) // a backend that was told to end takes a moment
		}
	}
}
