package direct

import (
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// headSize is the longest head of a request that is read here. Those of players have some hundred bytes.
	headSize = 4 << 10
	// A deadline may come too early by deadlinePrecision, or by one deadlineShare of its time if that is less:
	// setting one costs as much as parsing a request.
	deadlinePrecision = time.Second
	deadlineShare     = 20
)

// What a connection does.
const (
	waiting   int32 = iota // for a request
	answering              // one
	stopped                // it is to end
)

// conn is a connection on which requests are answered here.
type conn struct {
	listener *Listener
	tcp      *net.TCPConn
	raw      syscall.RawConn
	remote   string
	state    atomic.Int32

	head  [headSize]byte
	from  int // head[from:to] was read and not answered
	to    int
	reads deadline
	sends deadline
	out   response
	more  sender
}

// deadline avoids setting the deadline of a connection where the new one hardly differs from the old one.
type deadline struct{ at time.Time }

func (d *deadline) move(to time.Time, set func(time.Time) error) error {
	if later := to.Sub(d.at); later >= 0 && later < min(deadlinePrecision, time.Until(to)/deadlineShare) {
		return nil
	}
	d.at = to
	return set(to)
}

// open registers a connection that is in this state. It returns nil if a Shutdown has begun.
func (l *Listener) open(tcp *net.TCPConn, state int32) *conn {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	c := &conn{listener: l, tcp: tcp, raw: raw, remote: tcp.RemoteAddr().String()}
	c.state.Store(state)
	c.out.conn, c.out.header = c, make(http.Header, 16)
	c.more.init()
	if !l.add(c) {
		return nil
	}
	return c
}

// serve answers the requests of a connection, until it ends or is passed on. timeout is for the first
// request.
func (c *conn) serve(timeout time.Duration) {
	defer c.listener.remove(c)
	defer func() {
		if v := recover(); v != nil { // of a handler, answer knows more
			c.logPanic(v)
			c.tcp.Close()
		}
	}()
	if c.answerAll(timeout) != passOn {
		c.tcp.Close()
		return
	}
	_ = c.tcp.SetDeadline(time.Time{}) // whoever is next sets its own
	c.listener.pass(accepted{conn: &passedOn{TCPConn: c.tcp, refusal: c.listener.config.Refusal, head: slices.Clone(c.head[c.from:c.to])}})
}

// nextStep says what becomes of a connection after a request.
type nextStep int

const (
	keepOpen nextStep = iota // for the next request
	closeConn
	passOn // to net/http
)

// answerAll answers requests until the connection is to be closed or passed on.
func (c *conn) answerAll(timeout time.Duration) nextStep {
	ctx, cancel := context.WithCancel(context.WithValue(c.listener.ctx, http.LocalAddrContextKey, c.tcp.LocalAddr()))
	defer cancel()
	for {
		if c.from == c.to && !c.read(timeout) {
			return closeConn
		}
		timeout = c.listener.config.IdleTimeout
		if !c.state.CompareAndSwap(waiting, answering) {
			return closeConn
		}
		if next := c.answerNext(ctx); next != keepOpen {
			return next
		}
		if !c.state.CompareAndSwap(answering, waiting) {
			return closeConn
		}
	}
}

// answerNext answers the request that was read. One that is not of the kind that is answered here has the
// connection passed on.
func (c *conn) answerNext(ctx context.Context) nextStep {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := blank.WithContext(ctx) // the only way to make a request with a context is to copy one
	size := parse(c.head[c.from:c.to], c.listener.config.Prefix, r)
	if size == 0 {
		return passOn
	}
	if c.from += size; c.from == c.to {
		c.from, c.to = 0, 0
	}
	r.RemoteAddr = c.remote
	if !c.answer(r) {
		return closeConn
	}
	return keepOpen
}

var blank = new(http.Request)

// read waits for the next request. It reports false at the end of the connection.
func (c *conn) read(timeout time.Duration) bool {
	if c.reads.move(time.Now().Add(timeout), c.tcp.SetReadDeadline) != nil || c.state.Load() == stopped {
		return false
	}
	n, err := c.tcp.Read(c.head[:])
	c.from, c.to = 0, n
	return err == nil && n > 0
}

// stop ends a connection that waits for a request now, and another one after its answer.
func (c *conn) stop() {
	if c.state.Swap(stopped) == waiting {
		_ = c.tcp.SetReadDeadline(time.Unix(1, 0)) // wakes the reader; it fails only for a closed connection
	}
}

// answer has the handler answer a request. It reports whether the connection can go on.
func (c *conn) answer(r *http.Request) (on bool) {
	c.out.begin(r.Method == http.MethodHead)
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v != http.ErrAbortHandler {
			c.logPanic(v)
		}
		_ = c.tcp.SetLinger(0) // what was sent must not look complete
		on = false
	}()
	c.listener.config.Handler.ServeHTTP(&c.out, r)
	return c.out.finish()
}

func (c *conn) logPanic(v any) {
	c.listener.config.Log.Error("answering a request panicked", "panic", v, "stack", string(debug.Stack()))
}
