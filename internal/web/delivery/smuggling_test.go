package delivery

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// A request that a proxy and this server may divide differently must be the last one
// of its connection: what follows it is never answered.
func TestAnAmbiguousRequestEndsItsConnection(t *testing.T) {
	t.Parallel()
	const chunked, smuggled = "Transfer-Encoding: chunked\r\n", "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, tt := range map[string]struct {
		version, headers, body string
		goesOn                 bool
	}{
		"Content-Length, then chunked":     {"1.1", "Content-Length: 5\r\n" + chunked, "0\r\n\r\n", false},
		"chunked, then Content-Length":     {"1.1", chunked + "Content-Length: 5\r\n", "0\r\n\r\n", false},
		"both, and a body":                 {"1.1", "Content-Length: 4\r\n" + chunked, "5c\r\n" + string(make([]byte, 0x5c)) + "\r\n0\r\n\r\n", false},
		"HTTP/1.0 and chunked":             {"1.0", "Connection: keep-alive\r\n" + chunked, "", false},
		"HTTP/1.0, chunked and a length":   {"1.0", "Connection: keep-alive\r\nContent-Length: 5\r\n" + chunked, "0\r\n\r\n", false},
		"a length alone is not ambiguous":  {"1.1", "Content-Length: 5\r\n", "hello", true},
		"no body at all is not ambiguous":  {"1.1", "", "", true},
		"the same length twice is no harm": {"1.1", "Content-Length: 5\r\nContent-Length: 5\r\n", "hello", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 10)
			conn, _ := guarded(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				seen <- r.URL.Path
			}, Timeouts{})
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST /first HTTP/%s\r\nHost: h\r\n%s\r\n%s%s", tt.version, tt.headers, tt.body, smuggled)
			in := bufio.NewReader(conn)
			res, err := http.ReadResponse(in, nil)
			if err != nil || res.StatusCode != http.StatusOK || res.Close == tt.goesOn {
				t.Fatalf("the answer is %+v, %v; want 200, and Connection: close unless it goes on (%t)", res, err, tt.goesOn)
			}
			_, err = http.ReadResponse(in, nil)
			if answered := err == nil; answered != tt.goesOn {
				t.Errorf("what follows is answered: %t (%v); want %t", answered, err, tt.goesOn)
			}
			if first := <-seen; first != "/first" || (len(seen) > 0) != tt.goesOn {
				t.Errorf("the server has handled %s, and %d more", first, len(seen))
			}
		})
	}
}
