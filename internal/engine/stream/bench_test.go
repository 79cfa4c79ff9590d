package stream

import (
	"io"
	"os"
	"testing"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// BenchmarkSegment makes and reads segments of a 720p rendition whose index is known,
// against reading as many bytes of the file as they are.
func BenchmarkSegment(b *testing.B) {
	f, err := os.Open(makeRendition(b, "1280x720", 20, withSound(20)...))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	film := mp4.Input{ReaderAt: f, Size: info.Size()}
	x, err := mp4.ReadIndex(film)
	if err != nil {
		b.Fatal(err)
	}
	open := func(from, to int64) io.ReadCloser { return file{io.NewSectionReader(f, from, to-from)} }
	buffer := make([]byte, 32<<10)
	copyAll := func(b *testing.B, r io.Reader) {
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buffer); err != nil {
			b.Fatal(err)
		}
	}
	for name, s := range map[string]*mp4.Segments{"frames": x.Video, "audio": x.Audio} {
		size := s.List()[1].Size
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				parts, err := s.Segment(1)
				if err != nil {
					b.Fatal(err)
				}
				r := NewReader(parts, open)
				copyAll(b, r)
				r.Close()
			}
		})
		b.Run(name+", plain read", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				copyAll(b, io.NewSectionReader(f, film.Size/4, size))
			}
		})
	}
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			if _, err := mp4.ReadIndex(film); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// file is a part of a file that need not be closed.
type file struct{ *io.SectionReader }

func (file) Close() error { return nil }
