package stream

import (
	"errors"
	"fmt"
	"io"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// maxGap is how many bytes of other tracks are read and dropped rather than
// sending another request to the storage. The tracks of a file are interleaved
// in runs of a second.
const maxGap = 256 << 10

// Source opens a part of a rendition file for reading, from one byte up to
// another.
type Source func(from, to int64) io.ReadCloser

// Reader reads the parts of a segment as one. It asks its source for the whole
// span of the parts at once, when the first byte is needed, and buffers nothing.
// It must be closed.
type Reader struct {
	source Source
	parts  []mp4.Part
	size   int64

	pos  int64 // in the segment
	part int   // the part that pos is in
	into int64 // the position within that part

	open   io.ReadCloser // nil, or a part of the file
	at, to int64         // its position in the file, and where it ends
}

// NewReader returns a reader of parts, whose ranges are positions in source.
func NewReader(parts []mp4.Part, source Source) *Reader {
	r := &Reader{source: source, parts: parts}
	for _, p := range parts {
		r.size += p.Size()
	}
	return r
}

// Size returns how many bytes there are.
func (r *Reader) Size() int64 { return r.size }

func (r *Reader) Read(p []byte) (int, error) {
	for r.part < len(r.parts) && r.into == r.parts[r.part].Size() {
		r.part, r.into = r.part+1, 0
	}
	if r.part == len(r.parts) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	here := r.parts[r.part]
	n := min(len(p), int(min(here.Size()-r.into, 1<<30)))
	var err error
	if here.Bytes != nil {
		copy(p[:n], here.Bytes[r.into:])
	} else if n, err = r.readSource(p[:n], here.From+r.into); n > 0 {
		err = nil // a permanent error is returned by the next read
	}
	r.pos, r.into = r.pos+int64(n), r.into+int64(n)
	return n, err
}

// CopyFrom copies the next n bytes to w. It reads the ranges of the parts from file, which is the file
// that the source opens, and hands each to w as a part of that file, so that a connection can have the
// kernel send it.
func (r *Reader) CopyFrom(file io.ReadSeeker, w io.Writer, n int64) (sent int64, err error) {
	for sent < n && r.part < len(r.parts) {
		here := r.parts[r.part]
		length := min(here.Size()-r.into, n-sent)
		var wrote int64
		if here.Bytes != nil {
			var m int
			m, err = w.Write(here.Bytes[r.into : r.into+length])
			wrote = int64(m)
		} else if _, err = file.Seek(here.From+r.into, io.SeekStart); err == nil {
			wrote, err = io.CopyN(w, file, length)
		}
		sent, r.pos, r.into = sent+wrote, r.pos+wrote, r.into+wrote
		if err != nil {
			return sent, err
		}
		if r.into == here.Size() {
			r.part, r.into = r.part+1, 0
		}
	}
	if sent < n {
		return sent, io.ErrUnexpectedEOF
	}
	return sent, nil
}

// readSource reads bytes of the file from a position.
func (r *Reader) readSource(p []byte, from int64) (int, error) {
	if err := r.seekSource(from); err != nil {
		return 0, err
	}
	n, err := r.open.Read(p)
	r.at += int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the index says that there is more
	}
	return n, err
}

// seekSource moves to a position of the file: by dropping the bytes before it,
// if it is near, or with a new request.
func (r *Reader) seekSource(from int64) error {
	if r.open != nil && from >= r.at && from < r.to && from-r.at <= maxGap {
		gap := from - r.at
		if gap == 0 {
			return nil
		}
		if s, ok := r.open.(io.Seeker); ok {
			if _, err := s.Seek(gap, io.SeekCurrent); err != nil {
				return fmt.Errorf("skip %d bytes of the file: %w", gap, err)
			}
		} else if _, err := io.CopyN(io.Discard, r.open, gap); err != nil {
			return fmt.Errorf("skip %d bytes of the file: %w", gap, err)
		}
		r.at = from
		return nil
	}
	if err := r.Close(); err != nil {
		return err
	}
	r.at, r.to = from, r.spanEnd()
	r.open = r.source(r.at, r.to)
	return nil
}

// spanEnd returns up to where the file is worth reading in one request.
func (r *Reader) spanEnd() int64 {
	end := r.parts[r.part].To
	for _, p := range r.parts[r.part+1:] {
		if p.Bytes != nil {
			continue
		}
		if p.From < end || p.From-end > maxGap {
			break
		}
		end = p.To
	}
	return end
}

// Seek sets the position of the next Read.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek to a negative position")
	}
	r.pos, r.part, r.into = offset, 0, min(offset, r.size)
	for r.part < len(r.parts) && r.into > r.parts[r.part].Size() {
		r.into -= r.parts[r.part].Size()
		r.part++
	}
	return offset, nil
}

// Close closes the open request. The reader can be used afterwards.
func (r *Reader) Close() error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close()
	r.open = nil
	return err
}
