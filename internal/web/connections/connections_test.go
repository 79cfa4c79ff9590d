package connections

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/limit"
)

// serve serves bounded listeners, and returns their address. Without heads, these have the usual bounds.
func serve(t *testing.T, heads *limit.Places[netip.Prefix], trusted ...netip.Prefix) (accepted <-chan *conn, address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, proxied := Bound(ln, 8, trusted, slog.New(slog.DiscardHandler))
	if heads != nil {
		l.heads = heads
	}
	clients := recorder{l, make(chan *conn, 100)}
	for _, one := range []net.Listener{clients, proxied} {
		s := &http.Server{Handler: http.HandlerFunc(answer), ConnState: State}
		go s.Serve(one)
		t.Cleanup(func() { s.Close() })
	}
	return clients.accepted, ln.Addr().String()
}

// recorder tells which connections were accepted.
type recorder struct {
	*Listener
	accepted chan *conn
}

func (r recorder) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	if err == nil {
		r.accepted <- c.(*conn)
	}
	return c, err
}

// connect opens a connection, and reports whether the server keeps it.
func connect(t *testing.T, address, send string) (c net.Conn, kept bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, send); err != nil {
		return c, false
	}
	answer := make([]byte, len("HTTP/1.1 200"))
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = io.ReadFull(c, answer)
	return c, err == nil && string(answer) == "HTTP/1.1 200"
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // it fails with the connection
	io.WriteString(w, "whole")
}

func TestConnectionsOfAClient(t *testing.T) {
	t.Parallel()
	_, address := serve(t, nil)
	var open []net.Conn
	for len(open) < 8 {
		c, kept := connect(t, address, get)
		if !kept {
			t.Fatalf("connection %d is closed", len(open)+1)
		}
		open = append(open, c)
	}
	if _, kept := connect(t, address, get); kept {
		t.Error("one connection too many is kept")
	}
	open[0].Close()
	for {
		if _, kept := connect(t, address, get); kept {
			break // as soon as the server has noticed
		}
	}
}

func TestTrustedProxiesHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	_, address := serve(t, nil, netip.MustParsePrefix("127.0.0.0/8"))
	for n := range 20 {
		if _, kept := connect(t, address, get); !kept {
			t.Fatalf("connection %d of a proxy is closed", n+1)
		}
	}
}

// unfinished begins a request whose head has so many bytes so far.
func unfinished(t *testing.T, address string, bytes int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	const begin = "GET / HTTP/1.1\r\nHost: a\r\nX: "
	if _, err := io.WriteString(c, begin+strings.Repeat("x", bytes-len(begin))); err != nil {
		t.Fatal(err)
	}
	return c
}

// waitForHead waits until the server has read some of a head, or none counts any more.
func waitForHead(t *testing.T, c *conn, counts bool) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		now := len(c.heads) > 0
		c.mu.Unlock()
		if now == counts {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("a head counts: %t; want %t", now, counts)
		}
	}
}

// Unfinished heads of a client are bounded. Bodies do not count, nor requests that are answered.
func TestHeadsOfRequests(t *testing.T) {
	t.Parallel()
	const share = 1000
	accepted, address := serve(t, limit.NewPlaces[netip.Prefix](share, 2*share))
	for range 5 {
		if _, kept := connect(t, address, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n"+strings.Repeat("x", 50000)); !kept {
			t.Fatal("a request with a body is not answered")
		}
		waitForHead(t, <-accepted, false)
	}
	var begun []net.Conn
	for _, bytes := range []int{share, share - 100} {
		begun = append(begun, unfinished(t, address, bytes))
		waitForHead(t, <-accepted, true)
	}
	if _, kept := connect(t, address, "GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 200)+"\r\n\r\n"); kept {
		t.Error("a client may send more than its share of unfinished requests")
	}
	if _, kept := connect(t, address, get); !kept {
		t.Error("a usual request is not answered while the client has a little left")
	}
	for _, c := range begun {
		if _, err := io.WriteString(c, "\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(c, 12))
		if err != nil || string(text) != "HTTP/1.1 200" {
			t.Errorf("a request that is finished later is answered %q, %v", text, err)
		}
	}
}
