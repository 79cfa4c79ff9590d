package direct

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestOneLengthIsSent has handlers say several lengths, or none that can be meant, and reads the next answer of
// the connection as well.
func TestOneLengthIsSent(t *testing.T) {
	var said []string
	late := false
	l := run(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !late {
			w.Header()["Content-Length"] = said
		}
		w.WriteHeader(http.StatusOK)
		if late {
			w.Header()["Content-Length"] = said
		}
		fmt.Fprint(w, "text")
	}))
	for _, late = range []bool{false, true} {
		for _, said = range [][]string{{"4", "4"}, {"4", "100"}, {"x"}, {"-1"}, {""}, {"4, 100"}, {}} {
			conn := dial(t, l.Addr())
			in := bufio.NewReader(conn)
			for range 2 {
				fmt.Fprint(conn, "GET /v/a HTTP/1.1\r\nHost: a\r\n\r\n")
				got, _ := receive(t, in, "GET")
				if lengths := got.Header["Content-Length"]; got.Body != "text" || got.Length != 4 || len(lengths) != 1 || got.Close {
					t.Errorf("%q, late %v: %+v", said, late, got)
				}
			}
		}
	}
}

// TestAnAnswerOfUnknownLengthThatFails is one that a client must not take for the whole.
func TestAnAnswerOfUnknownLengthThatFails(t *testing.T) {
	failed := make(chan bool)
	l := run(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		var err error
		for err == nil {
			_, err = w.Write(film)
		}
		close(failed)
	}))
	conn := dial(t, l.Addr())
	fmt.Fprint(conn, "GET /v/a HTTP/1.1\r\nHost: a\r\n\r\n")
	<-failed
	if got, _ := receive(t, bufio.NewReader(conn), "GET"); !got.Trouble {
		t.Errorf("%d bytes look complete", len(got.Body))
	}
}

// TestAnEmptyFileIsSentAtOnce wants that of some answers one comes sooner than the kernel sends what waits for
// more, which is 200 ms.
func TestAnEmptyFileIsSentAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := run(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Length", "0")
		if _, err := io.CopyN(w, f, 0); err != nil {
			t.Error(err)
		}
	}))
	conn := dial(t, l.Addr())
	in := bufio.NewReader(conn)
	var took time.Duration
	for range 50 {
		start := time.Now()
		fmt.Fprint(conn, "GET /v/a HTTP/1.1\r\nHost: a\r\n\r\n")
		receive(t, in, "GET")
		if took = time.Since(start); took < 150*time.Millisecond {
			return
		}
	}
	t.Errorf("it took %v", took)
}
