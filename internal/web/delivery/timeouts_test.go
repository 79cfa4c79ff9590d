package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// guarded serves h behind Guard, opens a raw connection to it and signals when
// requests have ended.
func guarded(t *testing.T, h http.HandlerFunc, timeouts Timeouts) (conn *net.TCPConn, ended <-chan struct{}) {
	t.Helper()
	done := make(chan struct{}, 10)
	guard := Guard(h, timeouts)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		guard.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return dial(t, server), done
}

// waitFor returns how long it took until something ended.
func waitFor(t *testing.T, ended <-chan struct{}) time.Duration {
	t.Helper()
	start := time.Now()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the client can block the server")
	}
	return time.Since(start)
}

func TestABodyThatNeverArrivesBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"a short body":      "Content-Length: 10\r\n",
		"a long body":       "Content-Length: 10000000\r\n",
		"an endless body":   "Transfer-Encoding: chunked\r\n",
		"Expect":            "Content-Length: 10\r\nExpect: 100-continue\r\n",
		"Connection: close": "Content-Length: 10\r\nConnection: close\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, ended := guarded(t, http.NotFound, Timeouts{Drain: 500 * time.Millisecond})
			start := time.Now()
			fmt.Fprintf(conn, "POST /nothing HTTP/1.1\r\nHost: h\r\n%s\r\n", head)
			status := make([]byte, len("HTTP/1.1 404"))
			if _, err := io.ReadFull(conn, status); err != nil || string(status) != "HTTP/1.1 404" {
				t.Fatalf("the answer is %q, %v", status, err)
			}
			if waited := time.Since(start); waited > 250*time.Millisecond {
				t.Errorf("the answer waited %s for the body", waited)
			}
			waitFor(t, ended)
			if _, err := io.Copy(io.Discard, conn); err != nil { // until the server closes
				t.Errorf("the connection ends with %v", err)
			}
		})
	}
}

// Many clients send their whole body before they read the response.
func TestAClientThatSendsFirstGetsTheRefusal(t *testing.T) {
	t.Parallel()
	const size = 24 << 20 // more than the socket buffers of both sides hold
	r := newRig(t, nil, Config{})
	_, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, fmt.Sprintf("Content-Length: %d\r\n", size), "")
	if _, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatalf("the connection broke before everything was sent: %v", err)
	}
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 413, "file_too_large")
}

func TestAStalledBodyTimesOut(t *testing.T) {
	t.Parallel()
	fault := make(chan error, 1)
	conn, ended := guarded(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		fault <- err
	}, Timeouts{Idle: 100 * time.Millisecond, Drain: 100 * time.Millisecond})
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nfew")
	waitFor(t, ended)
	if err := <-fault; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ends with %v, want the deadline", err)
	}
}

// newSparseRig is newRig with a sparse file of this size.
func newSparseRig(t *testing.T, size int64, c Config) *rig {
	t.Helper()
	r := newRig(t, nil, c)
	r.Must(os.Truncate(filepath.Join(r.Dir, "public", string(r.film), "720p.mp4"), size))
	return r
}

func TestAStalledReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	r := newSparseRig(t, 64<<20, Config{IdleTimeout: 300 * time.Millisecond})
	conn, ended := guarded(t, r.handler.ServeHTTP, Timeouts{Idle: 300 * time.Millisecond})
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", r.path)
	waitFor(t, ended)
}

// Over HTTP/2 the connection can be alive while one request of it is stalled: its client takes no more
// than what it allowed at the beginning.
func TestAStalledReaderOfHTTP2IsDisconnected(t *testing.T) {
	t.Parallel()
	play := newSparseRig(t, 64<<20, Config{IdleTimeout: 300 * time.Millisecond})
	done := make(chan struct{}, 1)
	guard := Guard(play.handler, Timeouts{Idle: 300 * time.Millisecond})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		guard.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	transport := &http.Transport{Protocols: server.Config.Protocols}
	t.Cleanup(transport.CloseIdleConnections)
	res, err := (&http.Client{Transport: transport}).Get(server.URL + play.path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 {
		t.Errorf("the answer comes over %s", res.Proto)
	}
	waitFor(t, done)
}

func TestASlowButSteadyReaderGetsTheWholeFile(t *testing.T) {
	t.Parallel()
	const size, idle = 64 << 20, time.Second
	r := newSparseRig(t, size, Config{IdleTimeout: idle})
	conn, ended := guarded(t, r.handler.ServeHTTP, Timeouts{Idle: idle})
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", r.path)
	tick := time.NewTicker(idle / 25)
	defer tick.Stop()
	var got int64
	for start := time.Now(); ; {
		n, err := io.CopyN(io.Discard, conn, 1<<20)
		if got += n; err == io.EOF {
			if took := time.Since(start); got < size || took < 2*idle {
				t.Errorf("got %d bytes in %s; want all %d in more than %s", got, took, size, 2*idle)
			}
			break
		}
		if err != nil {
			t.Fatalf("the response broke off after %d bytes: %v", got, err)
		}
		<-tick.C
	}
	waitFor(t, ended)
}

func TestAConnectionCanBeReusedAfterAPause(t *testing.T) {
	t.Parallel()
	const idle = 100 * time.Millisecond
	r := newRig(t, []byte(digits), Config{IdleTimeout: idle})
	server := httptest.NewServer(r.handler)
	defer server.Close()
	for range 2 {
		res, err := server.Client().Get(server.URL + r.path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || string(b) != digits {
			t.Fatalf("got %q, %v", b, err)
		}
		<-time.After(2 * idle) // longer than the timeout of the first request
	}
}

// readerFrom is a writer that, like the server's, has ReadFrom.
type readerFrom struct {
	*httptest.ResponseRecorder
	took []io.Reader
	sent int64
}

func (f *readerFrom) ReadFrom(r io.Reader) (int64, error) {
	f.took = append(f.took, r)
	n, err := io.Copy(f.ResponseRecorder, r)
	f.sent += n
	return n, err
}

func TestFilesAreSentWithSendfile(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte(digits), writeBlock/4) // two blocks and a half
	w := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
	r := newRig(t, content, Config{})
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", r.path, nil))
	if len(w.took) != 3 || !bytes.Equal(w.Body.Bytes(), content) {
		t.Errorf("%d blocks with %d bytes were sent, want 3 with %d", len(w.took), w.Body.Len(), len(content))
	}
	for _, part := range w.took {
		limited, ok := part.(*io.LimitedReader)
		if !ok {
			t.Fatalf("ReadFrom got a %T, want an *io.LimitedReader", part)
		}
		if _, ok := limited.R.(syscall.Conn); !ok {
			t.Errorf("ReadFrom got a %T, which sendfile cannot use", limited.R)
		}
	}
}

func TestTheFramesOfASegmentAreSentWithSendfile(t *testing.T) {
	t.Parallel()
	w := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
	r := newRig(t, makeRendition(t), Config{})
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", r.public("720p-1.m4s"), nil))
	for _, part := range w.took {
		if _, ok := part.(*io.LimitedReader).R.(syscall.Conn); !ok {
			t.Errorf("ReadFrom got a %T, which sendfile cannot use", part)
		}
	}
	if whole := int64(w.Body.Len()); w.Code != http.StatusOK || w.sent < whole/2 {
		t.Errorf("of %d bytes, %d are sent with sendfile; want all but the head", whole, w.sent)
	}
}
