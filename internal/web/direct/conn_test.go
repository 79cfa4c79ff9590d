package direct

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDeadlinesAreMoved(t *testing.T) {
	var d deadline
	var at time.Time
	set := func(to time.Time) error { at = to; return nil }
	start := time.Now()
	for _, c := range []struct {
		to    time.Duration
		moved bool
	}{
		{time.Hour, true},
		{time.Hour + time.Second/2, false},
		{time.Hour + time.Second, true},
		{time.Minute, true}, // earlier is never too exact
		{-time.Hour, true},
		{-time.Hour + time.Millisecond, true},
		{10 * time.Minute, true},
	} {
		to := start.Add(c.to)
		if err := d.move(to, set); err != nil || at.Equal(to) != c.moved {
			t.Errorf("after the move to %v it is at %v, %v", c.to, at.Sub(start), err)
		}
	}
	d = deadline{at: time.Now().Add(time.Second)}
	if to := d.at.Add(time.Second / 10); d.move(to, set) != nil || !at.Equal(to) {
		t.Error("a short deadline was not moved by a tenth of its time")
	}
}

// intercepted calls before when a connection is taken from net/http.
type intercepted struct {
	http.ResponseWriter
	before func() error
}

func (i intercepted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if err := i.before(); err != nil {
		return nil, nil, err
	}
	return i.ResponseWriter.(http.Hijacker).Hijack()
}

// TestAConnectionThatIsTakenBackIsAnswered has a Shutdown begin, or the taking fail, at the worst moment.
func TestAConnectionThatIsTakenBackIsAnswered(t *testing.T) {
	for _, stops := range []bool{true, false} {
		h := files(t)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := Listen(t.Context(), ln, Config{Handler: h, Prefix: "/v/", HeaderTimeout: waitLimit, IdleTimeout: waitLimit, Log: slog.New(slog.DiscardHandler)})
		before := func() error {
			if !stops {
				return errors.New("meant by the test")
			}
			given, cancel := context.WithCancel(t.Context())
			cancel()
			_ = l.Shutdown(given)
			return nil
		}
		back := l.TakeBack(h)
		serve(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { back.ServeHTTP(intercepted{w, before}, r) }))
		conn := dial(t, l.Addr())
		in := bufio.NewReader(conn)
		fmt.Fprint(conn, "POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
		receive(t, in, "POST")
		var got answer
		var via string
		for range backAfter {
			fmt.Fprint(conn, "GET /v/text HTTP/1.1\r\nHost: a\r\n\r\n")
			got, via = receive(t, in, "GET")
		}
		if got.Body != "some text" || got.Close != stops || (via == "direct") != stops {
			t.Errorf("stops %v: %s answers %+v", stops, via, got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		if err := l.Shutdown(ctx); err != nil {
			t.Errorf("stops %v: %v", stops, err)
		}
		cancel()
	}
}

func TestAPanicEndsOneConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client := dial(t, ln.Addr())
	tcp, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	l := &Listener{ctx: t.Context(), config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, conns: map[*conn]struct{}{}}
	c := l.open(tcp.(*net.TCPConn), waiting)
	c.to = -1 // cannot be
	c.serve(waitLimit)
	if _, err := io.ReadAll(client); err != nil {
		t.Errorf("the connection is not closed: %v", err)
	}
	if len(l.conns) != 0 || !strings.Contains(log.String(), "panicked") {
		t.Errorf("%d connections, log %s", len(l.conns), &log)
	}
}

// failing is a listener that fails with one error after the other.
type failing struct {
	net.Listener
	errs chan error
}

func (f failing) Accept() (net.Conn, error) { return nil, <-f.errs }
func (failing) Close() error                { return nil }

func TestOnlyTheLastErrorOfAListenerCounts(t *testing.T) {
	temporary, last := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}, errors.New("the last one")
	errs := make(chan error, 3)
	errs <- temporary
	errs <- temporary
	errs <- last
	l := Listen(t.Context(), failing{errs: errs}, Config{Log: slog.New(slog.DiscardHandler)})
	defer l.Close()
	if _, err := l.Accept(); !errors.Is(err, last) {
		t.Errorf("%v", err)
	}
}
