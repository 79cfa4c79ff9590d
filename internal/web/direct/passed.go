package direct

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
)

// backAfter is how many plain requests in a row bring a connection back from net/http. Passing it on once
// more costs about what they would have saved.
const backAfter = 3

// passedOn is a connection whose first bytes were read already.
type passedOn struct {
	*net.TCPConn
	refusal func([]byte) []byte
	head    []byte
	plain   int // plain requests in a row
}

func (p *passedOn) Write(b []byte) (int, error) {
	if p.refusal != nil {
		if other := p.refusal(b); other != nil {
			_, err := p.TCPConn.Write(other)
			return len(b), err
		}
	}
	return p.TCPConn.Write(b)
}

func (p *passedOn) Read(b []byte) (int, error) {
	if len(p.head) == 0 {
		return p.TCPConn.Read(b)
	}
	n := copy(b, p.head)
	p.head = p.head[n:]
	return n, nil
}

type connKey struct{}

// ConnContext is for http.Server: TakeBack needs it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if p, ok := c.(*passedOn); ok {
		return context.WithValue(ctx, connKey{}, p)
	}
	return ctx
}

// TakeBack returns the handler for http.Server. It answers with next, until a connection has become one of
// plain requests.
func (l *Listener) TakeBack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := r.Context().Value(connKey{}).(*passedOn)
		if p == nil || r.ProtoMajor != 1 { // HTTP/2 has many requests on a connection
			next.ServeHTTP(w, r)
			return
		}
		if !isPlain(r, l.config.Prefix) {
			p.plain = 0
			next.ServeHTTP(w, r)
			return
		}
		if p.plain++; p.plain < backAfter || !l.takeBack(w, r, p) {
			next.ServeHTTP(w, r)
		}
	})
}

// isPlain reports whether a request is of the kind that is answered here. It does not look as closely as
// parse: net/http has understood the request.
func isPlain(r *http.Request, prefix string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.ProtoMinor != 1 || r.ContentLength != 0 || r.Close ||
		len(r.TransferEncoding) > 0 || !strings.HasPrefix(r.RequestURI, prefix) || !consistsOf(r.RequestURI, inPath) {
		return false
	}
	for _, name := range []string{"Upgrade", "Expect", "Trailer"} {
		if r.Header[name] != nil {
			return false
		}
	}
	for _, value := range r.Header["Connection"] {
		if !isOrdinary("Connection", value) {
			return false
		}
	}
	return true
}

// takeBack answers a request and what follows on its connection here. It reports false if net/http has to
// answer it: a Shutdown has begun, or net/http does not give the connection away.
func (l *Listener) takeBack(w http.ResponseWriter, r *http.Request, p *passedOn) bool {
	hijacker, ok := w.(http.Hijacker)
	if !ok || len(p.head) > 0 {
		return false
	}
	c := l.open(p.TCPConn, answering) // before net/http forgets it, so that one of both knows it at any time
	if c == nil {
		return false
	}
	_, rest, err := hijacker.Hijack()
	if err != nil {
		l.remove(c)
		return false
	}
	if !c.takeOver(rest.Reader) || !c.answer(r) || !c.state.CompareAndSwap(answering, waiting) {
		p.TCPConn.Close()
		l.remove(c)
		return true
	}
	go c.serve(l.config.IdleTimeout) // so that net/http can forget the connection
	return true
}

// takeOver keeps what net/http has read of the next requests. Its buffer is no larger than that of a conn.
func (c *conn) takeOver(rest *bufio.Reader) bool {
	read, err := rest.Peek(rest.Buffered())
	c.to = copy(c.head[:], read)
	return err == nil && c.to == len(read)
}
