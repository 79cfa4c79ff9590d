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
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// film is the content of the file that the handler of the tests serves.
var film = bytes.Repeat([]byte("0123456789abcdef"), 64<<10)

// waitLimit is how long a test waits for what must happen.
const waitLimit = 90 * time.Second

// files is a handler for the tests. Each answer says who sent it.
func files(t *testing.T) http.Handler {
	t.Helper()
	name := filepath.Join(t.TempDir(), "film.mp4")
	if err := os.WriteFile(name, film, 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v/film.mp4", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeFile(w, r, name)
	})
	mux.HandleFunc("/v/text", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "some ", "text") })
	mux.HandleFunc("/v/long", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			fmt.Fprint(w, strings.Repeat("long text ", 30))
		}
	})
	mux.HandleFunc("/v/flushed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8")
		fmt.Fprint(w, "some")
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, "text")
	})
	mux.HandleFunc("/v/nothing", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/v/late", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Content-Length", "100")
		w.Header().Set("X-Late", "a")
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "text")
	})
	mux.HandleFunc("/v/unsaid", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "te")
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "xt")
	})
	mux.HandleFunc("/v/twice", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Length"] = []string{"4", "4"}
		fmt.Fprint(w, "text")
	})
	mux.HandleFunc("/v/same", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusNotModified)
	})
	mux.HandleFunc("/v/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/v/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "too short")
	})
	mux.HandleFunc("/v/panic", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/v/lines", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Text", "a\r\nX-Forged: b") })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		via := "net/http"
		if _, ok := w.(*response); ok {
			via = "direct"
		}
		w.Header().Set("X-Via", via)
		mux.ServeHTTP(w, r)
	})
}

// run serves a handler through both, and returns the listener.
func run(t *testing.T, h http.Handler) *Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(t.Context(), ln, Config{Handler: h, Prefix: "/v/", HeaderTimeout: waitLimit, IdleTimeout: waitLimit, Log: slog.New(slog.DiscardHandler)})
	serve(t, l, l.TakeBack(h))
	t.Cleanup(l.Abort)
	return l
}

// serve serves a listener with net/http.
func serve(t *testing.T, ln net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ConnContext: ConnContext}
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { s.Close(); done.Wait() })
}

func dial(t *testing.T, at net.Addr) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(waitLimit)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// answer is what a client sees of an answer.
type answer struct {
	Status  string
	Header  http.Header
	Length  int64
	Close   bool
	Body    string
	Trouble bool // it broke off
}

// receive reads the answer to a request of this method.
func receive(t *testing.T, in *bufio.Reader, method string) (a answer, via string) {
	t.Helper()
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	via = r.Header.Get("X-Via")
	r.Header.Del("X-Via")
	r.Header.Del("Date")
	r.Header.Del("Content-Type") // net/http looks at the body where the handler does not say it
	return answer{r.Status, r.Header, r.ContentLength, r.Close, string(body), err != nil}, via
}

func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	h := files(t)
	l := run(t, h)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, plain, h)
	for _, c := range []struct{ method, path, headers string }{
		{"GET", "film.mp4", ""},
		{"HEAD", "film.mp4", ""},
		{"GET", "film.mp4", "Range: bytes=100-65635\r\n"},
		{"GET", "film.mp4", "range:bytes=1000000-\r\nConnection: keep-alive\r\n"},
		{"HEAD", "film.mp4", "Range: bytes=5-9\r\n"},
		{"GET", "film.mp4", "Range: bytes=99999999-\r\n"},
		{"GET", "film.mp4", "Range: bytes=4-5\r\nAccept: a\r\nAccept: b\r\n"},
		{"GET", "film.mp4", "If-None-Match: \"1\"\r\n"},
		{"GET", "film.mp4", "If-Range: \"1\"\r\nRange: bytes=0-1\r\n"},
		{"GET", "text", ""},
		{"HEAD", "text", ""},
		{"GET", "flushed", ""},
		{"GET", "nothing", ""},
		{"GET", "late", ""},
		{"HEAD", "late", ""},
		{"GET", "unsaid", ""},
		{"GET", "twice", ""},
		{"GET", "same", ""},
		{"GET", "none", ""},
		{"GET", "short", ""},
		{"GET", "lines", ""},
		{"GET", "missing", ""},
		{"GET", "../v/film.mp4", ""},
	} {
		var got [2]answer
		for i, at := range []net.Addr{l.Addr(), plain.Addr()} {
			conn := dial(t, at)
			fmt.Fprintf(conn, "%s /v/%s HTTP/1.1\r\nHost: a.example:8080\r\n%s\r\n", c.method, c.path, c.headers)
			var via string
			got[i], via = receive(t, bufio.NewReader(conn), c.method)
			if want := [2]string{"direct", "net/http"}[i]; via != want {
				t.Errorf("%v was answered by %s, not by %s", c, via, want)
			}
		}
		if c.method == "HEAD" { // net/http says how long a short text would be
			got[0].Length, got[1].Length = 0, 0
			got[0].Header.Del("Content-Length")
			got[1].Header.Del("Content-Length")
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			got[0].Body, got[1].Body = fmt.Sprint(len(got[0].Body)), fmt.Sprint(len(got[1].Body))
			t.Errorf("%v\n  is answered with %+v\n  net/http answers %+v", c, got[0], got[1])
		}
	}
}

func TestLongTextWithoutALengthEndsTheConnection(t *testing.T) {
	conn := dial(t, run(t, files(t)).Addr())
	fmt.Fprint(conn, "GET /v/long HTTP/1.1\r\nHost: a\r\n\r\n")
	got, via := receive(t, bufio.NewReader(conn), "GET")
	if via != "direct" || !got.Close || got.Body != strings.Repeat("long text ", 3000) {
		t.Errorf("the answer of %s has %d bytes, close %v", via, len(got.Body), got.Close)
	}
}

func TestOtherRequestsArePassedOn(t *testing.T) {
	l := run(t, files(t))
	long := strings.Repeat("a", headSize)
	for _, head := range []string{
		"POST /v/text HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
		"GET /v/text HTTP/1.0\r\nHost: a\r\n",
		"GET /other HTTP/1.1\r\nHost: a\r\n",
		"GET /v/text?a=b HTTP/1.1\r\nHost: a\r\n",
		"GET /v/te%78t HTTP/1.1\r\nHost: a\r\n",
		"GET http://a/v/text HTTP/1.1\r\nHost: a\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nPragma: no-cache\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX-Long: " + long + "\r\n",
		"GET /v/text HTTP/1.1\nHost: a\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX-Name: caf\xc3\xa9\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX_Name: a\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX-Name: a\r\n b\r\n",
		"GET /v/text HTTP/1.1\r\n" + strings.Repeat("X-Name: a\r\n", maxHeaders+1) + "Host: a\r\n",
	} {
		conn := dial(t, l.Addr())
		fmt.Fprint(conn, head+"\r\n")
		got, via := receive(t, bufio.NewReader(conn), "GET")
		if via != "net/http" || got.Status != "200 OK" {
			t.Errorf("%.100q was answered with %s by %s", head, got.Status, via)
		}
	}
	for _, head := range []string{
		"GET /v/text HTTP/1.1\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nHost: a\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a b\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX Name: a\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX-Name : a\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX-Name: a\rb\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nX-Name: a\x00\r\n",
		"GET /v/text HTTP/1.1\r\nHost: a\r\nnothing\r\n",
		"GET  /v/text HTTP/1.1\r\nHost: a\r\n",
	} {
		conn := dial(t, l.Addr())
		fmt.Fprint(conn, head+"\r\n")
		if got, via := receive(t, bufio.NewReader(conn), "GET"); via != "" || !strings.HasPrefix(got.Status, "400") {
			t.Errorf("%q was answered with %s by %s", head, got.Status, via)
		}
	}
}

// TestConnectionsGoOn sends several requests at once, in pieces that end anywhere.
func TestConnectionsGoOn(t *testing.T) {
	l := run(t, files(t))
	ours := "GET /v/film.mp4 HTTP/1.1\r\nHost: a\r\nRange: bytes=0-99\r\n\r\n"
	all := ours + ours + "POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody" + ours
	for _, piece := range []int{len(all), len(ours), 1, 33, len(ours) + 20} {
		conn := dial(t, l.Addr())
		if err := conn.SetNoDelay(true); err != nil {
			t.Fatal(err)
		}
		for rest := all; rest != ""; {
			n := min(piece, len(rest))
			fmt.Fprint(conn, rest[:n])
			rest = rest[n:]
		}
		in := bufio.NewReader(conn)
		for i, want := range []string{string(film[:100]), string(film[:100]), "POST /other body", string(film[:100])} {
			if got, via := receive(t, in, "GET"); got.Body != want || i > 1 && via != "net/http" {
				t.Errorf("in pieces of %d, answer %d of %s is %+v", piece, i, via, got)
			}
		}
	}
}

// TestConnectionsComeBack mixes requests on one connection, one after the other and all at once.
func TestConnectionsComeBack(t *testing.T) {
	l := run(t, files(t))
	ours, other := "GET /v/film.mp4 HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\nRange: bytes=0-99\r\n\r\n", "POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
	var all, want []string
	for range 3 {
		all = append(all, other, ours, ours, other, ours, ours, ours, ours)
		want = append(want, "net/http", "net/http", "net/http", "net/http", "net/http", "net/http", "direct", "direct")
	}
	for _, atOnce := range []bool{false, true} {
		conn := dial(t, l.Addr())
		in := bufio.NewReader(conn)
		if atOnce {
			fmt.Fprint(conn, strings.Join(all, ""))
		}
		for i, request := range all {
			if !atOnce {
				fmt.Fprint(conn, request)
			}
			body := string(film[:100])
			if request == other {
				body = "POST /other body"
			}
			got, via := receive(t, in, "GET")
			if got.Body != body || !atOnce && via != want[i] {
				t.Errorf("at once %v: answer %d of %s has %q; want %q of %s", atOnce, i, via, got.Body, body, want[i])
			}
		}
	}
}

func TestBrokenAnswersDoNotLookComplete(t *testing.T) {
	l := run(t, files(t))
	for _, path := range []string{"/v/short", "/v/panic"} {
		conn := dial(t, l.Addr())
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
		if got, _ := receive(t, bufio.NewReader(conn), "GET"); !got.Trouble {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// TestClientsThatDoNotReadAreLeft lets the deadline pass that the handler sets.
func TestClientsThatDoNotReadAreLeft(t *testing.T) {
	left := make(chan error, 1)
	l := run(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", "1000000000")
		var err error
		for err == nil {
			_, err = w.Write(film)
		}
		left <- err
	}))
	conn := dial(t, l.Addr())
	fmt.Fprint(conn, "GET /v/a HTTP/1.1\r\nHost: a\r\n\r\n")
	select {
	case err := <-left:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(waitLimit):
		t.Fatal("the handler still writes")
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	const short = 50 * time.Millisecond
	h := files(t)
	listen := func(first, next time.Duration) net.Addr {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := Listen(t.Context(), ln, Config{Handler: h, Prefix: "/v/", HeaderTimeout: first, IdleTimeout: next, Log: slog.New(slog.DiscardHandler)})
		serve(t, l, h)
		return l.Addr()
	}
	if _, err := io.ReadAll(dial(t, listen(short, waitLimit))); err != nil { // without any request
		t.Error(err)
	}
	conn := dial(t, listen(waitLimit, short))
	start := time.Now()
	fmt.Fprint(conn, "GET /v/text HTTP/1.1\r\nHost: a\r\n\r\n")
	if all, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(all), "some text") {
		t.Errorf("%q, %v", all, err)
	}
	if took := time.Since(start); took < short {
		t.Errorf("it was closed after %v", took)
	}
}

func TestShutdownWaitsForAnswers(t *testing.T) {
	asked, goOn := make(chan bool), make(chan bool)
	l := run(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v/slow" {
			asked <- true
			<-goOn
		}
		fmt.Fprint(w, "text")
	}))
	idle, busy := dial(t, l.Addr()), dial(t, l.Addr())
	fmt.Fprint(idle, "GET /v/a HTTP/1.1\r\nHost: a\r\n\r\n")
	fmt.Fprint(busy, "GET /v/slow HTTP/1.1\r\nHost: a\r\n\r\n")
	in := bufio.NewReader(idle)
	receive(t, in, "GET")
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- l.Shutdown(t.Context()) }()
	if n, err := in.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the idle connection has %d bytes, %v", n, err)
	}
	select {
	case err := <-ended:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	close(goOn)
	if got, _ := receive(t, bufio.NewReader(busy), "GET"); got.Body != "text" || !got.Close {
		t.Errorf("%+v", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	late, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		defer late.Close()
		if _, err := io.ReadAll(late); err != nil {
			t.Error(err)
		}
	}
}

func TestShutdownGivesUp(t *testing.T) {
	asked, aborted := make(chan bool), make(chan bool)
	l := run(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-aborted
	}))
	busy := dial(t, l.Addr())
	fmt.Fprint(busy, "GET /v/slow HTTP/1.1\r\nHost: a\r\n\r\n")
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.Abort()
	if _, err := io.ReadAll(busy); err != nil {
		t.Error(err)
	}
	close(aborted)
}
