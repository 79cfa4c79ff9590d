package probe

import (
	"context"
	"io"
)

// blockSize is how much of a file is read at once.
const blockSize = 4 << 10

// blocks reads a file in blocks until a context ends. The headers of a million small elements side by side take
// a few calls, and large ones take a call each.
type blocks struct {
	ctx   context.Context
	file  io.ReaderAt
	from  int64
	block []byte // what is at from
}

func (b *blocks) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > blockSize {
		return b.file.ReadAt(p, at)
	}
	if at < b.from || at+int64(len(p)) > b.from+int64(len(b.block)) {
		if err := b.fill(at); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.block[at-b.from:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fill reads the block that begins at a position. It is shorter at the end of the file.
func (b *blocks) fill(at int64) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	if b.block == nil {
		b.block = make([]byte, blockSize)
	}
	n, err := b.file.ReadAt(b.block[:blockSize], at)
	if err == io.EOF {
		err = nil
	}
	b.from, b.block = at, b.block[:n]
	return err
}
