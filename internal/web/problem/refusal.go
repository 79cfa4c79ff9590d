package problem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// What net/http writes to a connection when it refuses a request that no handler has seen: a status line, these
// headers and a line of text, which is the status line again or the one below.
var (
	statusPrefix   = []byte("HTTP/1.1 ")
	refusalHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	unknownCoding  = []byte("Unsupported transfer encoding")
)

// maxRefusal is longer than any of these.
const maxRefusal = 1 << 10

// Refusal returns what is sent in place of a refusal of net/http, or nil if b is something else. All that is known of
// the request is that it could not be read, so the problem names no path and no ID.
func Refusal(b []byte) []byte {
	if len(b) > maxRefusal || !bytes.HasPrefix(b, statusPrefix) {
		return nil
	}
	line, text, found := bytes.Cut(b[len(statusPrefix):], refusalHeaders)
	if !found || len(line) < 3 || bytes.Contains(line, []byte("\n")) {
		return nil
	}
	if !bytes.Equal(text, line) && !bytes.Equal(text, unknownCoding) { // it may be a part of a page that looks alike
		return nil
	}
	status, err := strconv.Atoi(string(line[:3]))
	if err != nil || status < 400 {
		return nil
	}
	p := &Problem{Status: status, Code: "invalid_request", Detail: "The request is not HTTP as this server understands it."}
	if status == http.StatusRequestHeaderFieldsTooLarge {
		p.Code, p.Detail = "headers_too_large", "The headers of the request are too long."
	}
	p.Type, p.Title = "urn:spool:problem:"+p.Code, title(p.Code)
	body, _ := json.Marshal(p) // only strings and numbers: it cannot fail
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), ContentType, len(body), body)
}

// Listen returns ln with connections on which Refusal replaces what net/http refuses.
func Listen(ln net.Listener) net.Listener { return refusals{ln} }

type refusals struct{ net.Listener }

func (l refusals) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return refusingConn{tcp}, err
	}
	return c, err
}

// refusingConn has all that a TCPConn has, so that files are still sent by the kernel.
type refusingConn struct{ *net.TCPConn }

func (c refusingConn) Write(b []byte) (int, error) {
	if other := Refusal(b); other != nil {
		_, err := c.TCPConn.Write(other)
		return len(b), err
	}
	return c.TCPConn.Write(b)
}
