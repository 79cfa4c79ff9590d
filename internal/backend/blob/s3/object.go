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
	// headSize is what comes along when an object is opened: enough to tell a
	// video, and all of a small picture.
	headSize = 16 << 10
	// windowSize is the least that is asked for at once, so that the small reads
	// of somebody who walks through a file's structure share a request. It is
	// also how close to its end a run is read to the end, which frees its
	// connection.
	windowSize = 32 << 10
)

// object is an open object. Requests are what costs time and money, so it makes
// few: reads that follow each other share one request to the end of the object
// (a run), and small reads are answered from a piece of it in memory (the
// window).
type object struct {
	version
	ctx context.Context // of Open: reads have no context of their own
	pos int64           // of Read and Seek

	mu     sync.Mutex
	window window
	run    *stream // nil, or open at run.off
	next   int64   // where the last read ended
	closed bool
}

// window is a piece of an object that is in memory.
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

// Info describes the version that is open.
func (o *object) Info() blob.Info { return o.info }

// Read reads on from the position. It takes for granted that more will be read.
func (o *object) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if o.pos >= o.info.Size {
		return 0, io.EOF
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.some(p, o.pos, true)
	o.pos += int64(n)
	return n, err
}

// ReadAt fills p from byte off on.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read at a negative position")
	}
	wanted := p[:max(0, min(int64(len(p)), o.info.Size-off))]
	n, err := o.fill(wanted, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (o *object) fill(p []byte, off int64) (n int, err error) {
	if !o.mu.TryLock() { // somebody else is reading; do not wait for their bytes
		return io.ReadFull(&stream{version: o.version, ctx: o.ctx, off: off, end: off + int64(len(p))}, p)
	}
	defer o.mu.Unlock()
	sequential := off == o.next && off > 0
	for n < len(p) && err == nil {
		var m int
		m, err = o.some(p[n:], off+int64(n), sequential)
		n += m
	}
	return n, err
}

// some reads at least one byte at off, from whatever makes the fewest requests.
func (o *object) some(p []byte, off int64, sequential bool) (n int, err error) {
	if o.closed {
		return 0, fs.ErrClosed
	}
	switch b := o.window.at(off); {
	case b != nil:
		n = copy(p, b)
	case o.run != nil && o.run.off == off:
		n, err = o.readRun(p)
	case sequential:
		o.endRun()
		o.run = &stream{version: o.version, ctx: o.ctx, off: off, end: o.info.Size}
		n, err = o.readRun(p)
	case len(p) >= windowSize:
		n, err = io.ReadFull(&stream{version: o.version, ctx: o.ctx, off: off, end: off + int64(len(p))}, p)
	default:
		if o.window, err = o.load(off, off+windowSize); err == nil {
			n = copy(p, o.window.bytes)
		}
	}
	o.next = off + int64(n)
	return n, err
}

func (o *object) readRun(p []byte) (int, error) {
	n, err := o.run.Read(p)
	if err != nil {
		o.endRun()
		return n, err
	}
	if left := o.run.end - o.run.off; left > 0 && left <= windowSize {
		// Whoever reads a film's samples leaves the tables at its end unread, and
		// has a thousand of these open.
		rest := make([]byte, left)
		off := o.run.off
		if _, err := io.ReadFull(o.run, rest); err != nil {
			o.endRun()
			return n, nil // those who want these bytes will ask for them, and see the error
		}
		o.window = window{off, rest}
	}
	if o.run.off == o.run.end {
		o.endRun()
	}
	return n, nil
}

func (o *object) endRun() {
	if o.run != nil {
		o.run.Close()
		o.run = nil
	}
}

// load reads the bytes from off up to end, or to the end of the object.
func (o *object) load(off, end int64) (window, error) {
	end = min(end, o.info.Size)
	w := window{off, make([]byte, end-off)}
	if _, err := io.ReadFull(&stream{version: o.version, ctx: o.ctx, off: off, end: end}, w.bytes); err != nil {
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
		offset += o.info.Size
	default:
		return 0, fmt.Errorf("seek from %d, which is no place", whence)
	}
	if offset < 0 {
		return 0, errors.New("seek to a negative position")
	}
	o.pos = offset
	return offset, nil
}

// Close ends what is being read and frees its connection.
func (o *object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endRun()
	o.closed, o.window = true, window{}
	return nil
}

// Span reads a part with one request, apart from all other reads.
func (o *object) Span(r blob.Range) io.ReadCloser {
	return span{&stream{version: o.version, ctx: o.ctx, off: r.From, end: min(r.To, o.info.Size)}}
}

type span struct{ *stream }

func (s span) Close() error {
	s.stream.Close()
	return nil
}
