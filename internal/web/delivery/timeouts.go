package delivery

import (
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

// writeBlock is how much of a file is sent per write deadline. A client that does
// not take this much within the idle timeout is disconnected, so it also sets the
// slowest speed that is served: about 70 kbit/s.
const writeBlock = 512 << 10

// deadlinePrecision says how exact a write deadline is: to this part of the idle timeout.
const deadlinePrecision = 20

// Timeouts limit how long a client may keep the server waiting. The zero value is
// right outside of tests.
type Timeouts struct {
	// Idle is how long a connection may make no progress; default 60 s. A transfer
	// that makes progress may take as long as it likes.
	Idle time.Duration
	// Drain is how long the server reads the rest of a request body that the
	// handler did not want, so that a client that sends everything before it reads
	// still gets the response; default 2 s.
	Drain time.Duration
}

// Guard applies timeouts to every request of next, so that clients that neither
// send nor read cannot hold its resources. No key is needed to open a
// connection, so it belongs around everything else.
//
// A request whose body next does not read is answered at once and its connection
// is closed; net/http would wait for the body first. A body that next does read
// must arrive within the idle timeout, unless next sets other deadlines.
//
// A connection ends with a request whose length a proxy may see differently; see
// isAmbiguous.
func Guard(next http.Handler, t Timeouts) http.Handler {
	if t.Idle <= 0 {
		t.Idle = time.Minute
	}
	if t.Drain <= 0 {
		t.Drain = 2 * time.Second
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		out := &timeoutWriter{ResponseWriter: w, control: control, idle: t.Idle}
		if isAmbiguous(r) {
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength == 0 { // most requests: there is nothing to wait for, and nothing is written but by next
			next.ServeHTTP(out, r)
			out.extend()
			return
		}
		// Over HTTP/1, the server itself may send "100 Continue". Over HTTP/2, a write deadline that passes ends
		// the request even if nothing is written, and a long upload would never end well.
		if r.ProtoMajor == 1 {
			out.extend()
		}
		in := &trackedBody{ReadCloser: r.Body, control: control}
		out.unread = func() bool { return !in.finished && r.ProtoMajor == 1 }
		// Only connections of tests do not support deadlines.
		_ = control.SetReadDeadline(time.Now().Add(t.Idle))
		r = r.WithContext(r.Context()) // a copy: the server's own must keep its body
		r.Body = in
		next.ServeHTTP(out, r)
		if out.unread() && out.FlushError() == nil {
			in.drain(t.Drain, expectsContinue(r))
		}
		out.extend() // for what the server still has to send
	})
}

// isAmbiguous reports whether a proxy in front of the server may think that the
// request ends elsewhere. If the connection went on, what follows could be taken
// for a request by one of them only, which is how requests are smuggled past a
// proxy. RFC 9112, section 6.1, wants such connections closed after the response:
// if there is a Content-Length beside a Transfer-Encoding, and if HTTP/1.0 has a
// Transfer-Encoding. net/http removes the header that it ignores, so these cannot
// be told from other chunked requests and others of HTTP/1.0. Both are rare.
func isAmbiguous(r *http.Request) bool {
	return r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.ProtoMinor == 0)
}

// expectsContinue reports whether a client waits for "100 Continue" before it
// sends its body.
func expectsContinue(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Expect"), "100-continue")
}

// trackedBody records how far it was read.
type trackedBody struct {
	io.ReadCloser
	control           *http.ResponseController
	touched, finished bool
}

func (b *trackedBody) Read(p []byte) (int, error) {
	b.touched = true
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.finished = true
		// From now on the server watches the connection. If the read deadline
		// passed while the request is handled, the server would cancel the
		// request because it would believe that the client is gone.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// drain reads and discards the rest of the body after the response was sent. If
// the connection were closed with unread bytes, the client's TCP stack would
// discard the response. A client that still waits for "100 Continue" has nothing
// on its way.
func (b *trackedBody) drain(timeout time.Duration, expectsContinue bool) {
	_ = b.control.SetReadDeadline(time.Now().Add(timeout)) // also for the server, which reads some more
	if b.touched || !expectsContinue {
		_, _ = io.Copy(io.Discard, b.ReadCloser) // the connection is closed in any case
	}
}

// timeoutWriter extends the write deadline before each part of the response. It
// passes files to the writer below, which sends them with sendfile.
type timeoutWriter struct {
	http.ResponseWriter
	control *http.ResponseController // of the writer below
	idle    time.Duration
	unread  func() bool // whether a part of the request is still on its way; nil: it had no body
	begun   bool
	set     time.Time // when the deadline was set
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *timeoutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extend sets the write deadline, unless it was set so shortly before that it makes no difference:
// each time costs as much as parsing the request.
func (w *timeoutWriter) extend() {
	now := time.Now()
	if now.Sub(w.set) < w.idle/deadlinePrecision {
		return
	}
	w.set = now
	_ = w.control.SetWriteDeadline(now.Add(w.idle)) // only connections of tests do not support deadlines
}

// beforeResponse makes the server respond without waiting for the rest of the
// request body.
func (w *timeoutWriter) beforeResponse() {
	if !w.begun && w.unread != nil && w.unread() {
		w.Header().Set("Connection", "close")
	}
	w.begun = true
}

func (w *timeoutWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.beforeResponse()
	} else {
		w.extend() // 1xx is not the final response, and sent at once
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *timeoutWriter) Write(b []byte) (int, error) {
	w.beforeResponse()
	w.extend()
	return w.ResponseWriter.Write(b)
}

func (w *timeoutWriter) FlushError() error {
	w.beforeResponse()
	w.extend()
	return w.control.Flush()
}

// ReadFrom sends src in blocks. Each block is passed down as an io.LimitedReader
// around the file itself: the only form of a partial file that net/http sends
// with sendfile.
func (w *timeoutWriter) ReadFrom(src io.Reader) (sent int64, err error) {
	w.beforeResponse()
	whole, limited := src.(*io.LimitedReader)
	if !limited {
		whole = &io.LimitedReader{R: src, N: math.MaxInt64}
	}
	if whole.N <= writeBlock {
		w.extend()
		return io.Copy(w.ResponseWriter, whole)
	}
	for whole.N > 0 {
		size := min(whole.N, writeBlock)
		w.extend()
		n, err := io.Copy(w.ResponseWriter, &io.LimitedReader{R: whole.R, N: size})
		sent += n
		whole.N -= n
		if err != nil || n < size {
			return sent, err
		}
	}
	return sent, nil
}
