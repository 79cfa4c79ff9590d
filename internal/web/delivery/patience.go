package delivery

import (
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

// span is how much of a file is sent between two looks at the clock. A client
// that does not take this much within a stall is given up, so it also sets the
// slowest speed that is served: some 70 kbit/s.
const span = 512 << 10

// Patience says how long clients may keep the server waiting. The zero value is
// right outside of tests.
type Patience struct {
	// Stall is how long a connection may stand still; default 60 s. Transfers
	// that go on may take as long as they like.
	Stall time.Duration
	// Farewell is how long the rest of a body that nobody wants is taken in, so
	// that a client that sends everything before it listens hears the answer;
	// default 2 s.
	Farewell time.Duration
}

// Guard keeps clients that neither send nor read from holding on to next for
// ever; nobody needs a key for trying. It belongs around everything else.
//
// A request whose body next does not want is answered at once, while net/http
// would wait for the body first, and its connection is closed. A body that next
// does read must come within a stall, unless next sets other deadlines.
func Guard(next http.Handler, p Patience) http.Handler {
	if p.Stall <= 0 {
		p.Stall = time.Minute
	}
	if p.Farewell <= 0 {
		p.Farewell = 2 * time.Second
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		in := &watchedBody{ReadCloser: r.Body, control: control, finished: r.ContentLength == 0}
		out := &patientWriter{ResponseWriter: w, control: control, stall: p.Stall, unread: func() bool { return !in.finished && r.ProtoMajor == 1 }}
		out.extend()
		if !in.finished {
			// Connections without deadlines are those of tests.
			_ = control.SetReadDeadline(time.Now().Add(p.Stall))
		}
		r = r.WithContext(r.Context()) // a copy: the server's own must keep its body
		r.Body = in
		next.ServeHTTP(out, r)
		if out.unread() && out.FlushError() == nil {
			in.sayFarewell(p.Farewell, asksFirst(r))
		}
		out.extend() // for what the server still has to send
	})
}

// asksFirst reports whether a client waits for "100 Continue" before it sends.
func asksFirst(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Expect"), "100-continue")
}

// watchedBody knows how far it was read.
type watchedBody struct {
	io.ReadCloser
	control           *http.ResponseController
	touched, finished bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.touched = true
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.finished = true
		// From now on the server watches the connection. Were the deadline to
		// pass while the request is worked on, it would take the client for gone.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// sayFarewell takes in what is left of a body whose request was answered: were
// the connection closed with bytes unread, the client's system would drop the
// answer with it. A client that was not told to go on has nothing under way.
func (b *watchedBody) sayFarewell(patience time.Duration, asksFirst bool) {
	_ = b.control.SetReadDeadline(time.Now().Add(patience)) // also for the server, which reads some more
	if b.touched || !asksFirst {
		_, _ = io.Copy(io.Discard, b.ReadCloser) // the connection ends in any case
	}
}

// patientWriter gives the client a stall for each part of the answer. It hands
// files to the writer below, which has the kernel send them.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController // of the writer below
	stall   time.Duration
	unread  func() bool // whether a part of the request is still on its way
	begun   bool
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.stall)) }

// begin makes the server answer without waiting for the body.
func (w *patientWriter) begin() {
	if !w.begun && w.unread() {
		w.Header().Set("Connection", "close")
	}
	w.begun = true
}

func (w *patientWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // 1xx are no answer yet
		w.begin()
	}
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

func (w *patientWriter) Write(b []byte) (int, error) {
	w.begin()
	w.extend()
	return w.ResponseWriter.Write(b)
}

func (w *patientWriter) FlushError() error {
	w.begin()
	w.extend()
	return w.control.Flush()
}

// ReadFrom sends src in spans. Each goes down as an io.LimitedReader around the
// file itself, the one form of a part that the kernel can send.
func (w *patientWriter) ReadFrom(src io.Reader) (sent int64, err error) {
	w.begin()
	whole, limited := src.(*io.LimitedReader)
	if !limited {
		whole = &io.LimitedReader{R: src, N: math.MaxInt64}
	}
	for whole.N > 0 {
		size := min(whole.N, span)
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
