package delivery

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// Body is the body of a request that uploads a file. It may take as long as it likes,
// provided that every read returns something within the idle timeout. It ends early
// when it is stopped.
type Body struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration

	mu                sync.Mutex
	stopped, finished bool
}

// NewBody returns the body of r.
func NewBody(w http.ResponseWriter, r *http.Request, idle time.Duration) *Body {
	return &Body{ReadCloser: r.Body, control: http.NewResponseController(w), idle: idle, finished: r.ContentLength == 0}
}

func (b *Body) Read(p []byte) (int, error) {
	if !b.setDeadline(time.Now().Add(b.idle)) {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.mu.Lock()
		b.finished = true
		b.mu.Unlock()
		b.setDeadline(time.Time{}) // a timeout now would look to the server like a closed connection
	}
	return n, err
}

// setDeadline sets the deadline of the next read. It reports false after a stop.
func (b *Body) setDeadline(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return false
	}
	_ = b.control.SetReadDeadline(at) // only connections of tests do not support deadlines
	return true
}

// Stop ends the body. It interrupts a read that is under way.
func (b *Body) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.finished {
		b.stopped = true
		_ = b.control.SetReadDeadline(time.Now())
	}
}
