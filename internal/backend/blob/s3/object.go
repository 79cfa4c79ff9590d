package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// headSize is how many bytes should come along when an object is opened: enough
	// to recognize a video, and all of a small image.
	headSize = 16 << 10
	// windowSize is the least that is asked for at once, so that the small reads of
	// somebody who walks through a file's structure share a request. When no more
	// than this is left of a sequential request, it is read to its end at once, which
	// frees the connection.
	windowSize = 32 << 10
)

// object is an open object. Requests are what costs time and money, so it sends
// few: reads that follow each other share one request to the end of the object, and
// small reads are served from a part of it in memory (the window).
type object struct {
	version version
	ctx     context.Context // of Open: reads have no context of their own
	pos     int64           // of Read and Seek

	mu         sync.Mutex
	window     window
	sequential *rangeReader // nil, or open at sequential.off
	next       int64        // where the last read ended
	closed     bool
}

// window is a part of an object that is in memory.
type window struct {
	off   int64
	bytes []byte
}

// at returns the bytes from off on that are in the window.
func (w window) at(off int64) []byte {
	if off < w.off || off >= w.off+int64(len(w.bytes)) {
		return nil
	}
	return w.bytes[off-w.off:]
}

// open returns the object. head is the response to a request for its first
// headSize bytes; for an empty object it is nil.
func (v version) open(ctx context.Context, head io.ReadCloser) (blob.Object, error) {
	o := &object{version: v, ctx: ctx}
	r := v.newReader(ctx, blob.Range{To: min(headSize, v.info.Size)}, head)
	defer r.Close()
	o.window.bytes = make([]byte, r.end)
	if _, err := io.ReadFull(r, o.window.bytes); err != nil {
		return nil, err
	}
	return o, nil
}

// Info describes the version that is open.
func (o *object) Info() blob.Info { return o.version.info }

// Read reads on from the position. It expects that more will be read.
func (o *object) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if o.pos >= o.version.info.Size {
		return 0, io.EOF
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.readSome(p, o.pos, true)
	o.pos += int64(n)
	return n, err
}

// ReadAt fills p from byte off on.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read at a negative position")
	}
	wanted := p[:max(0, min(int64(len(p)), o.version.info.Size-off))]
	n, err := o.fill(wanted, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (o *object) fill(p []byte, off int64) (n int, err error) {
	if !o.mu.TryLock() { // somebody else is reading; do not wait for their bytes
		return o.readDirectly(p, off)
	}
	defer o.mu.Unlock()
	follows := off == o.next && off > 0
	for n < len(p) && err == nil {
		var m int
		m, err = o.readSome(p[n:], off+int64(n), follows)
		n += m
	}
	return n, err
}

// readDirectly fills p with a request of its own.
func (o *object) readDirectly(p []byte, off int64) (int, error) {
	r := o.version.newReader(o.ctx, blob.Range{From: off, To: off + int64(len(p))}, nil)
	defer r.Close()
	return io.ReadFull(r, p)
}

// readSome reads at least one byte at off, in the way that needs the fewest
// requests. follows says that the read continues an earlier one.
func (o *object) readSome(p []byte, off int64, follows bool) (n int, err error) {
	if o.closed {
		return 0, fs.ErrClosed
	}
	switch b := o.window.at(off); {
	case b != nil:
		n = copy(p, b)
	case o.sequential != nil && o.sequential.off == off:
		n, err = o.readSequential(p)
	case follows:
		o.closeSequential()
		o.sequential = o.version.newReader(o.ctx, blob.Range{From: off, To: o.version.info.Size}, nil)
		n, err = o.readSequential(p)
	case len(p) >= windowSize:
		n, err = o.readDirectly(p, off)
	default:
		if o.window, err = o.loadWindow(off); err == nil {
			n = copy(p, o.window.bytes)
		}
	}
	o.next = off + int64(n)
	return n, err
}

// readSequential reads from the request to the end of the object.
func (o *object) readSequential(p []byte) (int, error) {
	r := o.sequential
	n, err := r.Read(p)
	if err != nil {
		o.closeSequential()
		return n, err
	}
	if left := r.remaining(); left > 0 && left <= windowSize {
		// A reader of the samples of an MP4 file stops before the tables at its end,
		// and may have a thousand files open.
		rest, off := make([]byte, left), r.off
		if _, err := io.ReadFull(r, rest); err != nil {
			o.closeSequential()
			return n, nil // the next read asks for these bytes again, and gets the error
		}
		o.window = window{off, rest}
	}
	if r.remaining() == 0 {
		o.closeSequential()
	}
	return n, nil
}

func (o *object) closeSequential() {
	if o.sequential != nil {
		o.sequential.Close()
		o.sequential = nil
	}
}

// loadWindow reads the bytes around a small read at off.
func (o *object) loadWindow(off int64) (window, error) {
	end := min(off+windowSize, o.version.info.Size)
	w := window{off, make([]byte, end-off)}
	if _, err := o.readDirectly(w.bytes, off); err != nil {
		return window{}, err
	}
	return w, nil
}

// Seek sets the position of the next Read.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += o.pos
	case io.SeekEnd:
		offset += o.version.info.Size
	default:
		return 0, fmt.Errorf("seek: invalid whence %d", whence)
	}
	if offset < 0 {
		return 0, errors.New("seek to a negative position")
	}
	o.pos = offset
	return offset, nil
}

// Close ends the sequential request, if there is one, and frees its connection.
func (o *object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeSequential()
	o.closed, o.window = true, window{}
	return nil
}

// Span reads a range with one request, independent of all other reads.
func (o *object) Span(r blob.Range) io.ReadCloser {
	r.To = min(r.To, o.version.info.Size)
	return o.version.newReader(o.ctx, r, nil)
}
