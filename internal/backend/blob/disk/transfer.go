package disk

import (
	"context"
	"errors"
	"io"
	"os"
)

const (
	// bufferSize is what one transfer holds in memory, whatever its length.
	bufferSize = 128 << 10
	// kernelSpan is how much the kernel copies between two checks of the context.
	kernelSpan = 64 << 20
)

// transfer writes all of r to f, until ctx ends. Its error is r's own, the
// context's, or explains why f could not be written.
func transfer(ctx context.Context, f *os.File, r io.Reader) error {
	if src, ok := r.(*os.File); ok {
		return transferFile(ctx, f, src)
	}
	in := &source{ctx: ctx, r: r}
	// The struct hides f's ReadFrom, which would not use this buffer.
	_, err := io.CopyBuffer(struct{ io.Writer }{f}, in, make([]byte, bufferSize))
	if err != nil && in.err == nil {
		return explain(err)
	}
	return err
}

// transferFile has the kernel copy the bytes, or share the blocks where it can.
func transferFile(ctx context.Context, f, src *os.File) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(f, src, kernelSpan)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return explain(err)
		}
	}
}

// source reads from r until ctx ends, and keeps the error: an error of the sender must
// not be taken for an error of the disk.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (n int, err error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err = s.r.Read(p)
	if err != io.EOF { // as io.Copy decides it
		s.err = err
	}
	return n, err
}
