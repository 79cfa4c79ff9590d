package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// stallTimeout is how long a connection may take nothing before it counts as dead. The network does
	// not tell when the other side has vanished.
	stallTimeout = time.Minute
	// storeTimeout is how long the server may take to answer after the last byte: a bucket puts large
	// files together.
	storeTimeout = 5 * time.Minute
)

var errStalled = errors.New("the connection took no more data")

// sendBody sends the file from an offset on, in a request that build makes.
func (c *Client) sendBody(ctx context.Context, t *upload, offset int64, build func(context.Context, io.Reader) (*http.Request, error)) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	body := &meter{
		from: io.NewSectionReader(t.content, offset, t.size-offset), sent: offset, total: t.size, progress: t.options.Progress,
		stall: time.AfterFunc(stallTimeout, func() { cancel(errStalled) }),
	}
	req, err := build(ctx, body)
	if err != nil {
		body.Close()
		cancel(nil)
		return nil, err
	}
	req.ContentLength = t.size - offset
	if req.ContentLength == 0 {
		req.Body = http.NoBody // else the length would not be told
	}
	req.Header.Set("User-Agent", c.userAgent)
	res, err := c.http.Do(req)
	body.Close()
	if err != nil {
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		cancel(nil)
		return nil, withoutURL(cmp.Or(body.failure(), err)) // that the file cannot be read explains why sending it failed
	}
	res.Body = &cancelOnClose{res.Body, cancel}
	return res, nil
}

// cancelOnClose is the body of an answer. Closing it ends the context of the request.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (c *cancelOnClose) Close() error {
	defer c.cancel(nil)
	return c.ReadCloser.Close()
}

// readError is a file that cannot be read: no fault of the network.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// meter counts what is read. The transport may still read after the request has failed; nobody hears of that.
type meter struct {
	mu       sync.Mutex
	from     io.Reader
	sent     int64
	total    int64
	progress func(sent, total int64)
	stall    *time.Timer
	err      error
	closed   bool
}

func (m *meter) Read(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, io.ErrClosedPipe
	}
	n, err := m.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = readError{err}
	}
	m.sent += int64(n)
	limit := stallTimeout
	if m.sent == m.total {
		limit = storeTimeout
	}
	m.stall.Reset(limit)
	if m.progress != nil && n > 0 {
		m.progress(m.sent, m.total)
	}
	return n, err
}

// Close ends the counting.
func (m *meter) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.stall.Stop()
	return nil
}

// failure returns why the file could not be read.
func (m *meter) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
