package direct

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// bufferSize is how much of an answer is kept until it ends, or until more comes.
const bufferSize = 4 << 10

// response is the answer to one request, and then to the next one of the connection.
type response struct {
	conn     *conn
	header   http.Header
	headOnly bool // the request is a HEAD, or the status has no body

	status int
	head   []byte // as the headers were when the handler wrote them
	length int64  // of the body, as the handler said; -1: it did not
	body   int64  // bytes of it so far
	buffer []byte // what is to be sent next
	sent   bool   // the head has left, or is in the buffer
	last   bool   // the connection ends with this answer
	failed bool   // the client is gone
}

func (w *response) begin(head bool) {
	clear(w.header)
	*w = response{conn: w.conn, header: w.header, headOnly: head, head: w.head[:0], buffer: w.buffer[:0], length: -1}
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Nothing is sent yet, but later changes of the headers mean nothing.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK { // hints are not sent
		return
	}
	w.status = status
	w.head = w.appendHead(w.head)
	w.last = strings.EqualFold(w.header.Get("Connection"), "close")
	if status == http.StatusNoContent || status == http.StatusNotModified {
		w.headOnly = true
		return
	}
	if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		w.length = n
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(b []byte) (int, error) {
	if err := w.advance(int64(len(b))); err != nil {
		return 0, err
	}
	if w.headOnly {
		return len(b), nil
	}
	if w.length >= 0 || len(w.buffer)+len(b) > bufferSize { // else the length will be known when it ends
		w.putHead()
	}
	if len(w.buffer)+len(b) <= bufferSize {
		w.buffer = append(w.buffer, b...)
		return len(b), nil
	}
	all := net.Buffers{w.buffer, b}
	n, err := all.WriteTo(w.conn.tcp)
	n = max(0, n-int64(len(w.buffer)))
	w.buffer = w.buffer[:0]
	return int(n), w.note(err)
}

// advance counts bytes of the body that are to be sent.
func (w *response) advance(n int64) error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.failed:
		return net.ErrClosed
	case w.length >= 0 && w.body+n > w.length:
		return http.ErrContentLength
	}
	w.body += n
	return nil
}

func (w *response) note(err error) error {
	w.failed = w.failed || err != nil
	return err
}

// ReadFrom implements io.ReaderFrom. The kernel sends files.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	limited, ok := src.(*io.LimitedReader)
	if ok {
		_, ok = limited.R.(syscall.Conn)
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !ok || w.headOnly || w.length < 0 || w.body+limited.N > w.length || w.failed {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	w.putHead()
	if err := w.flush(limited.N > 0); err != nil { // after nothing, the kernel would wait for more
		return 0, err
	}
	n, err := w.conn.tcp.ReadFrom(limited)
	w.body += n
	return n, w.note(err)
}

// FlushError sends what is in the buffer.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.putHead()
	return w.flush(false)
}

// flush sends the buffer. With more, it may leave together with what is sent next.
func (w *response) flush(more bool) error {
	if len(w.buffer) == 0 || w.failed {
		return nil
	}
	var err error
	if more {
		err = w.conn.sendMore(w.buffer)
	} else {
		_, err = w.conn.tcp.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
	return w.note(err)
}

// SetWriteDeadline is for http.ResponseController.
func (w *response) SetWriteDeadline(t time.Time) error {
	return w.conn.sends.move(t, w.conn.tcp.SetWriteDeadline)
}

// SetReadDeadline is for http.ResponseController. There is nothing to read: requests have no body.
func (w *response) SetReadDeadline(time.Time) error { return nil }

// finish sends what is left. It reports whether the connection can go on.
func (w *response) finish() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.sent && w.length < 0 && !w.headOnly {
		w.length = int64(len(w.buffer))
	}
	if err := w.FlushError(); err != nil || w.failed {
		if w.endsWithConn() {
			_ = w.conn.tcp.SetLinger(0) // what was sent must not look complete
		}
		return false
	}
	return !w.last && (w.headOnly || w.length == w.body)
}

// putHead puts the head of the answer into the buffer, before what is there of the body, unless it was
// there before.
func (w *response) putHead() {
	if w.sent {
		return
	}
	if w.length >= 0 {
		w.head = append(strconv.AppendInt(append(w.head, "Content-Length: "...), w.length, 10), "\r\n"...)
	}
	w.head = append(append(append(w.head, "Date: "...), date()...), "\r\n"...)
	w.last = w.last || w.conn.listener.stopping.Load() || w.endsWithConn()
	if w.last {
		w.head = append(w.head, "Connection: close\r\n"...)
	}
	w.head = append(w.head, "\r\n"...)
	w.buffer, w.sent = slices.Insert(w.buffer, 0, w.head...), true
}

// endsWithConn reports whether nothing but the end of the connection says where the body ends.
func (w *response) endsWithConn() bool { return w.length < 0 && !w.headOnly }

// appendHead appends the head of the answer to b, without what putHead knows.
func (w *response) appendHead(b []byte) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	b = append(append(append(b, ' '), http.StatusText(w.status)...), "\r\n"...)
	for name, values := range w.header {
		if name == "Connection" || name == "Transfer-Encoding" || name == "Date" || name == "Content-Length" {
			continue
		}
		for _, value := range values {
			b = append(append(append(append(b, name...), ": "...), oneLine(value)...), "\r\n"...)
		}
	}
	return b
}

// oneLine keeps a value of a header from being taken for more.
func oneLine(value string) string {
	if strings.IndexByte(value, '\n') < 0 && strings.IndexByte(value, '\r') < 0 {
		return value
	}
	return lineBreaks.Replace(value)
}

var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")

// lastDate is the current second as text.
var lastDate atomic.Pointer[struct {
	second int64
	text   string
}]

// date returns the value of the header Date.
func date() string {
	now := time.Now()
	if d := lastDate.Load(); d != nil && d.second == now.Unix() {
		return d.text
	}
	d := &struct {
		second int64
		text   string
	}{now.Unix(), now.UTC().Format(http.TimeFormat)}
	lastDate.Store(d)
	return d.text
}
