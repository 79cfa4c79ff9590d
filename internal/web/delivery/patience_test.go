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
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// at returns the path of the film that playing plays.
const at = "/v/" + testID + "/720p.mp4"

// guarded serves h behind Guard, opens a bare connection to it and tells when
// requests have ended.
func guarded(t *testing.T, h http.HandlerFunc, p Patience) (conn *net.TCPConn, ended <-chan struct{}) {
	t.Helper()
	done := make(chan struct{}, 10)
	guard := Guard(h, p)
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
		t.Fatal("the client can hold on to the server")
	}
	return time.Since(start)
}

func TestABodyThatNeverComesHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"a short body":     "Content-Length: 10\r\n",
		"a long body":      "Content-Length: 10000000\r\n",
		"an endless body":  "Transfer-Encoding: chunked\r\n",
		"one who asks":     "Content-Length: 10\r\nExpect: 100-continue\r\n",
		"a body that goes": "Content-Length: 10\r\nConnection: close\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, ended := guarded(t, http.NotFound, Patience{Farewell: 500 * time.Millisecond})
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

// Many clients send all they have before they look for an answer.
func TestAClientThatSendsFirstHearsTheRefusal(t *testing.T) {
	t.Parallel()
	const size = 24 << 20 // more than the buffers of both systems hold
	conn, answers := serveUploads(t, refusing(video.TooLarge, "file_too_large"), Config{})
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", uploadPath, size)
	if _, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatalf("the connection broke before everything was sent: %v", err)
	}
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 413, "file_too_large")
}

func TestABodyThatStandsStillEnds(t *testing.T) {
	t.Parallel()
	fault := make(chan error, 1)
	conn, ended := guarded(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		fault <- err
	}, Patience{Stall: 100 * time.Millisecond, Farewell: 100 * time.Millisecond})
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nfew")
	waitFor(t, ended)
	if err := <-fault; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ends with %v, want the deadline", err)
	}
}

// film makes a service that plays so many zeroes; they take no room on disk.
func film(t *testing.T, size int64) *fakeService {
	t.Helper()
	s := playing(t, nil)
	if err := os.Truncate(s.path, size); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAReaderThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	play := newHandler(film(t, 64<<20), Config{Stall: 300 * time.Millisecond})
	conn, ended := guarded(t, play.ServeHTTP, Patience{Stall: 300 * time.Millisecond})
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", at)
	waitFor(t, ended)
}

func TestASlowButSteadyReaderGetsTheWholeFilm(t *testing.T) {
	t.Parallel()
	const size, stall = 64 << 20, time.Second
	play := newHandler(film(t, size), Config{Stall: stall})
	conn, ended := guarded(t, play.ServeHTTP, Patience{Stall: stall})
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", at)
	tick := time.NewTicker(stall / 25)
	defer tick.Stop()
	var got int64
	for start := time.Now(); ; {
		n, err := io.CopyN(io.Discard, conn, 1<<20)
		if got += n; err == io.EOF {
			if took := time.Since(start); got < size || took < 2*stall {
				t.Errorf("got %d bytes in %s; want all %d in more than %s", got, took, size, 2*stall)
			}
			break
		}
		if err != nil {
			t.Fatalf("the film broke off after %d bytes: %v", got, err)
		}
		<-tick.C
	}
	waitFor(t, ended)
}

func TestAConnectionIsGoodForAnotherRequestAfterAPause(t *testing.T) {
	t.Parallel()
	const stall = 100 * time.Millisecond
	server := httptest.NewServer(newHandler(playing(t, []byte(digits)), Config{Stall: stall}))
	defer server.Close()
	for range 2 {
		res, err := server.Client().Get(server.URL + at)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || string(b) != digits {
			t.Fatalf("got %q, %v", b, err)
		}
		<-time.After(2 * stall) // the pause itself is the subject
	}
}

// fileTaker is a writer that, like the server's, can take a file whole.
type fileTaker struct {
	*httptest.ResponseRecorder
	took []io.Reader
}

func (f *fileTaker) ReadFrom(r io.Reader) (int64, error) {
	f.took = append(f.took, r)
	return io.Copy(f.ResponseRecorder, r)
}

func TestTheServerIsHandedTheFileItself(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte(digits), span/4) // two spans and a half
	w := &fileTaker{ResponseRecorder: httptest.NewRecorder()}
	newHandler(playing(t, content), Config{}).ServeHTTP(w, httptest.NewRequest("GET", at, nil))
	if len(w.took) != 3 || !bytes.Equal(w.Body.Bytes(), content) {
		t.Errorf("%d spans with %d bytes were sent, want 3 with %d", len(w.took), w.Body.Len(), len(content))
	}
	for _, part := range w.took {
		limited, ok := part.(*io.LimitedReader)
		if !ok {
			t.Fatalf("the server was handed a %T, want an *io.LimitedReader", part)
		}
		if _, ok := limited.R.(syscall.Conn); !ok {
			t.Errorf("the server was handed a %T, which the kernel cannot read by itself", limited.R)
		}
	}
}
