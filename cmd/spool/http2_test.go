package main

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// overHTTP2 returns a client that begins with HTTP/2, without TLS.
func overHTTP2(t *testing.T) *http.Client {
	t.Helper()
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: p}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// thisMachine is trusted as a proxy.
var thisMachine = netip.MustParsePrefix("127.0.0.0/8")

func TestBothVersionsOfHTTPOnOnePort(t *testing.T) {
	t.Parallel()
	tellVersion := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	r := runServer(t, &service{handler: tellVersion}, stopTimeouts{grace: time.Second}, thisMachine)
	for want, client := range map[string]*http.Client{"HTTP/1.1": http.DefaultClient, "HTTP/2.0": overHTTP2(t)} {
		res, err := client.Get(r.url + "/something")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(body) != want || res.Header.Get("X-Request-Id") == "" {
			t.Errorf("the server sees %q, %v; want %s", body, err, want)
		}
	}
}

// A connection of HTTP/2 is a hundred of HTTP/1, so only proxies may have one.
func TestClientsGetNoHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	handled := make(chan string, 10)
	r := runServer(t, &service{handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { handled <- r.Method })}, stopTimeouts{grace: time.Second})
	if res, err := overHTTP2(t).Get(r.url + "/something"); err == nil {
		res.Body.Close()
		t.Errorf("a client that begins with HTTP/2 gets %s", res.Status)
	}
	r.stop()
	r.wait(t)
	close(handled)
	for method := range handled {
		if method == "GET" {
			t.Error("its request was handled")
		}
	}
}

// frame writes a frame of HTTP/2.
func frame(w io.Writer, kind, flags byte, stream uint32, payload string) error {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	_, err := w.Write(append(b, payload...))
	return err
}

// A client that opens requests and resets them at once must not have more of them handled at the same
// time than one that waits for the answers, and is disconnected.
func TestResetRequestsCountUntilTheyEnd(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	release := make(chan struct{})
	r := runServer(t, &service{handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
		now.Add(-1)
	})}, stopTimeouts{grace: time.Second}, thisMachine)
	defer close(release)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		ended <- err
	}()
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	err = frame(conn, 4, 0, 0, "") // SETTINGS
	for stream := uint32(1); stream < 20_000 && err == nil; stream += 2 {
		if err = frame(conn, 1, 4|1, stream, "\x82\x86\x84\x41\x01h"); err == nil { // HEADERS: GET http /, host h
			err = frame(conn, 3, 0, stream, "\x00\x00\x00\x08") // RST_STREAM: CANCEL
		}
	}
	if waited := <-ended; waited != nil && strings.Contains(waited.Error(), "timeout") {
		t.Error("the connection stays open")
	}
	if n := most.Load(); n == 0 || n > maxStreams {
		t.Errorf("%d requests of one connection were handled at once; want at most %d", n, maxStreams)
	}
	if code, _ := r.get(t, "/healthz"); code != http.StatusOK {
		t.Errorf("others get %d", code)
	}
}
