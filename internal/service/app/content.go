package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
)

// Content is a file that people play, open for reading.
type Content interface {
	io.ReadSeekCloser
	// Info describes it; files of a stream have no key.
	Info() blob.Info
}

// page is a file of a stream that is in memory.
type page struct {
	*bytes.Reader
	info blob.Info
}

func newPage(content []byte, modified time.Time) page {
	sum := sha256.Sum256(content)
	return page{bytes.NewReader(content), blob.Info{Size: int64(len(content)), ETag: hex.EncodeToString(sum[:16]), Modified: modified}}
}

func (p page) Info() blob.Info { return p.info }

func (page) Close() error { return nil }

// segment is a file of a stream that is read from a film.
type segment struct {
	*stream.Reader
	film blob.Object
	info blob.Info
}

func newSegment(film blob.Object, parts []mp4.Part) *segment {
	r := stream.NewReader(parts, func(from, to int64) io.ReadCloser { return film.Span(blob.Range{From: from, To: to}) })
	hash, of := sha256.New(), film.Info()
	hash.Write([]byte(of.ETag))
	for _, p := range parts {
		hash.Write(p.Bytes)
	}
	info := blob.Info{Size: r.Size(), ETag: hex.EncodeToString(hash.Sum(nil)[:16]), Modified: of.Modified}
	return &segment{Reader: r, film: film, info: info}
}

func (s *segment) Info() blob.Info { return s.info }

func (s *segment) Close() error {
	return errors.Join(s.Reader.Close(), s.film.Close())
}
