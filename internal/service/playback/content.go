package playback

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/stream"
)

// Content is a file that people play, open for reading.
type Content interface {
	io.ReadSeekCloser
	// Info describes it; files of a stream have no key, and may have an UnknownSize.
	Info() blob.Info
}

// Grows reports whether a file belongs to a video that is still being encoded, and may say more the
// next time.
func Grows(c Content) bool {
	d, ok := c.(*document)
	return ok && d.grows
}

// Early reports whether a file is made of the parts of a rendition that is not published yet. It does
// not change unless the pass fails: the next one may make other parts.
func Early(c Content) bool {
	e, ok := c.(interface{ Early() bool })
	return ok && e.Early()
}

// Sender is a Content that copies itself to a writer better than its reader could be copied: ranges of
// a file on this machine are handed to the writer as files, so that the kernel can send them.
type Sender interface {
	// SendTo sends the next n bytes, from where the content is.
	SendTo(w io.Writer, n int64) (int64, error)
}

// UnknownSize is the size of a file of a stream that is not made yet.
const UnknownSize = -1

// document is a file of a stream that is held in memory while it is read. It is made when it is read, or its
// end is looked for, so a client that wants to know no more than its ETag costs little.
type document struct {
	info  blob.Info
	grows bool
	early bool
	text  *bytes.Reader // nil: not made yet
	make  func(context.Context) ([]byte, error)
	ctx   context.Context // of the request, for make
	err   error           // why it could not be made
}

// newDocument returns a document of these bytes.
func newDocument(content []byte, modified time.Time) *document {
	sum := sha256.Sum256(content)
	d := &document{info: blob.Info{ETag: hex.EncodeToString(sum[:16]), Modified: modified}}
	d.hold(content)
	return d
}

func (d *document) hold(content []byte) {
	d.text, d.info.Size = bytes.NewReader(content), int64(len(content))
}

func (d *document) Info() blob.Info { return d.info }

func (d *document) Early() bool { return d.early }

func (*document) Close() error { return nil }

func (d *document) Read(b []byte) (int, error) {
	if err := d.load(); err != nil {
		return 0, err
	}
	return d.text.Read(b)
}

func (d *document) Seek(offset int64, whence int) (int64, error) {
	if err := d.load(); err != nil {
		return 0, err
	}
	return d.text.Seek(offset, whence)
}

func (d *document) load() error {
	if d.text != nil || d.err != nil {
		return d.err
	}
	content, err := d.make(d.ctx)
	if d.err = err; err == nil {
		d.hold(content)
	}
	return err
}

// mediaFile is where the media of a track are: a rendition file, or the pieces of one that is being
// made.
type mediaFile interface {
	Info() blob.Info
	Span(blob.Range) io.ReadCloser
	io.Closer
}

// segment is a file of a stream whose media are read from a file.
type segment struct {
	*stream.Reader
	file mediaFile
	info blob.Info
}

func newSegment(file mediaFile, c cut) *segment {
	r := stream.NewReader(c.parts, func(from, to int64) io.ReadCloser { return file.Span(blob.Range{From: from, To: to}) })
	return &segment{Reader: r, file: file, info: blob.Info{Size: r.Size(), ETag: c.etag, Modified: file.Info().Modified}}
}

func (s *segment) Info() blob.Info { return s.info }

// SendTo implements Sender.
func (s *segment) SendTo(w io.Writer, n int64) (int64, error) {
	file, ok := s.file.(localFile)
	if !ok {
		return io.CopyN(w, s.Reader, n)
	}
	return s.Reader.CopyFrom(file, w, n)
}

// localFile is a rendition file on this machine.
type localFile interface {
	io.ReadSeeker
	SyscallConn() (syscall.RawConn, error)
}

func (s *segment) Early() bool {
	_, early := s.file.(*growingFile)
	return early
}

func (s *segment) Close() error {
	return errors.Join(s.Reader.Close(), s.file.Close())
}
