package delivery

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// steady is a body that brings a byte every 20 seconds.
type steady struct{ left int }

func (s *steady) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(20 * time.Second)
	s.left--
	return 1, nil
}

// Over HTTP/2, too, an upload that makes progress may take as long as it likes.
func TestALongUploadOverHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 100 // half an hour
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Protocols: protocols, Handler: Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, NewBody(w, r, time.Minute))
			if n != size || err != nil {
				t.Errorf("%d bytes arrive, %v; want %d", n, err, size)
			}
			w.WriteHeader(http.StatusNoContent)
		}), Timeouts{Idle: time.Minute})}
		listener := make(pipes)
		go func() { _ = server.Serve(listener) }() // until it is closed
		transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener <- theirs
			return ours, nil
		}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://server/", &steady{size})
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Error(err)
		} else {
			res.Body.Close()
			if res.ProtoMajor != 2 || res.StatusCode != http.StatusNoContent {
				t.Errorf("the answer is %d over %s", res.StatusCode, res.Proto)
			}
		}
		transport.CloseIdleConnections()
		server.Close()
	})
}
