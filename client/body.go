package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
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
		req.Body = http.NoBody // otherwise no Content-Length would be sent
	}
	req.Header.Set("User-Agent", c.userAgent)
	res, err := c.http.Do(req)
	body.Close()
	if err != nil {
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		cancel(nil)
		return nil, withoutURL(cmp.Or(body.failure(), err)) // an error of reading the file explains why sending it failed
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

// Errors of a file that is changed while it is sent. The server would get a mix of the old file and the new one. What
// it has received stays there: a later call with the same IdempotencyKey would continue it.
var (
	errShorter = errors.New("the file became shorter while it was uploaded")
	errChanged = errors.New("the file was changed while it was uploaded; upload it again when it is complete")
)

// unchangedFile is a file whose last byte can only be read if it is still as it was at first.
type unchangedFile struct {
	statFile
	first fs.FileInfo
}

// statFile is an open file.
type statFile interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// unchanged returns content such that a file that changes cannot be read to its end.
func unchanged(content io.ReaderAt) io.ReaderAt {
	f, isFile := content.(statFile)
	if !isFile {
		return content
	}
	first, err := f.Stat()
	if err != nil {
		return content // reading it will tell
	}
	return unchangedFile{f, first}
}

func (f unchangedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.statFile.ReadAt(p, off)
	if off+int64(n) < f.first.Size() {
		return n, err
	}
	now, statErr := f.Stat()
	if statErr == nil && (now.Size() != f.first.Size() || !now.ModTime().Equal(f.first.ModTime())) {
		return 0, errChanged
	}
	return n, err
}

// readError is a file that cannot be read: no fault of the network.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// meter counts the bytes that are read. Reads after the request has ended fail and are not reported.
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
	m.sent += int64(n)
	if errors.Is(err, io.EOF) && m.sent < m.total { // to the network it would look like a broken connection
		err = errShorter
	}
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = readError{err}
	}
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
