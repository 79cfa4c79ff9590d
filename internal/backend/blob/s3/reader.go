package s3

import (
	"context"
	"fmt"
	"io"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// maxReopens is how often a reader reopens a broken connection in a row.
	maxReopens = 5
	// reopenCredit is how many bytes have to arrive for earlier breaks to be forgotten.
	reopenCredit = 1 << 20
)

// version is one version of an object. Everything that is read through it is of
// that version, or an error.
type version struct {
	info    blob.Info
	backoff backoff // between the connections of one reader

	// get requests the bytes from off up to end, at least one, of this version. If the object is
	// another version by now, the error wraps blob.ErrChanged. Errors are final: the SDK has tried
	// often enough.
	get func(ctx context.Context, off, end int64) (io.ReadCloser, error)
}

// rangeReader reads the bytes of a version from off up to end. When a connection breaks,
// or ends too soon, it continues with another.
type rangeReader struct {
	version  version
	ctx      context.Context // of the caller: io.Reader has no other place for it
	off, end int64

	body      io.ReadCloser // nil: asked for with the next Read
	breaks    int           // in a row
	lastBreak int64         // where the last one was
}

// newReader returns a reader of a range. body is the response to a request for it
// that was sent already, or nil.
func (v version) newReader(ctx context.Context, r blob.Range, body io.ReadCloser) *rangeReader {
	return &rangeReader{version: v, ctx: ctx, off: r.From, end: r.To, body: body}
}

// Read reads more of the range.
func (r *rangeReader) Read(p []byte) (int, error) {
	if r.off >= r.end {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := r.readBody(p[:min(int64(len(p)), r.end-r.off)])
		r.off += int64(n)
		switch {
		case r.off == r.end:
			r.Close()
			return n, nil
		case err == nil && n > 0:
			return n, nil
		case err != nil:
			if err := r.recover(err); err != nil {
				return n, err
			}
			if n > 0 {
				return n, nil
			}
		}
	}
}

func (r *rangeReader) readBody(p []byte) (n int, err error) {
	if r.body == nil {
		body, err := r.version.get(r.ctx, r.off, r.end)
		if err != nil {
			return 0, &finalError{err}
		}
		r.body = body
	}
	n, err = r.body.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // which it is, unless these were the last bytes
	}
	return n, err
}

// finalError is an error of a request, which was sent often enough.
type finalError struct{ error }

// recover prepares for another connection after one broke with cause, or returns
// the error with which to give up.
func (r *rangeReader) recover(cause error) error {
	r.Close()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if final, ok := cause.(*finalError); ok {
		return final.error
	}
	if r.off-r.lastBreak >= reopenCredit {
		r.breaks = 0
	}
	r.lastBreak = r.off
	if r.breaks++; r.breaks > maxReopens {
		return fmt.Errorf("read from byte %d on: the connection broke %d times: %w", r.off, r.breaks, cause)
	}
	return r.version.backoff.wait(r.ctx, r.breaks)
}

// Close returns the connection. It never fails. Reading could go on afterwards.
func (r *rangeReader) Close() error {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
	return nil
}

// remaining returns how many bytes are still to be read.
func (r *rangeReader) remaining() int64 { return r.end - r.off }
