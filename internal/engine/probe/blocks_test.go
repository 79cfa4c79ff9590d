package probe

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// counted counts the calls that read a file.
type counted struct {
	io.ReaderAt
	calls int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.calls++
	return c.ReaderAt.ReadAt(p, at)
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 10_000)
	file := &counted{ReaderAt: strings.NewReader(text)}
	b := &blocks{ctx: t.Context(), file: file}
	for at := 0; at < len(text); at += 10 {
		p := make([]byte, 12)
		n, err := b.ReadAt(p, int64(at))
		if want := text[at:min(at+12, len(text))]; string(p[:n]) != want || (err != nil) != (len(want) < 12) {
			t.Fatalf("ReadAt %d = %q, %v; want %q", at, p[:n], err, want)
		}
	}
	if most := len(text)/blockSize + 10; file.calls > most {
		t.Errorf("the file was read %d times; want at most %d", file.calls, most)
	}
	if n, err := b.ReadAt(make([]byte, len(text)), 0); n != len(text) || err != nil {
		t.Errorf("all at once: %d bytes, %v", n, err)
	}
}

// TestWalksEndWithTheirContext gives up on files of which a walk reads more than one block.
func TestWalksEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mp4 := func() io.ReaderAt { return &blocks{ctx: ctx, file: strings.NewReader(isoBox("ftyp", 8))} }
	ends := func(format string) error {
		f := NewResult()
		f.Format.Name = format
		_, err := f.endsInside(mp4(), 16)
		return err
	}
	for name, err := range map[string]error{
		"the end of an MP4":        ends(isoName),
		"the end of a Matroska":    ends("matroska,webm"),
		"the layout of an MP4":     (&Index{Size: 16}).readBoxes(mp4()),
		"the layout of a Matroska": (&Index{Size: 16}).readMatroska(mp4()),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want it to be canceled", name, err)
		}
	}
}
