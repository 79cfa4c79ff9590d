package ffmpeg

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// What the server reads of a child's output. A program that a hostile file has
// taken over prints without end, so each stream ends at its limit with
// ErrTooBig, and no more than a piece of it is ever in memory.
const (
	// maxProgress is for the lines of -progress: a kilobyte, twice a second, for
	// a day and a half.
	maxProgress = 256 << 20
	// maxAnswer is for what is kept as a whole: the list of encoders has 20 KiB,
	// the description of a frame less than 100.
	maxAnswer = 4 << 20
	// maxStderr is for error messages. A file that is damaged in every frame
	// causes many; only the end of them is kept.
	maxStderr = 256 << 20
	// maxCounted is for the complaints of a run with RepeatErrors: some 300 bytes about
	// each packet, of which a codec may have 400 a second, for a day and a half.
	maxCounted = 16 << 30
)

// maxPackets is how much may be printed about a file: ffprobe writes some 170
// bytes about each packet, and in large files packets have more than ten.
func maxPackets(source string) int64 {
	const least, factor = 1 << 30, 32
	info, err := os.Stat(source)
	if err != nil {
		return least // it will not be opened either
	}
	return least + factor*info.Size()
}

// tooMuch is the error of a child that printed more than it may.
func tooMuch(what string, limit int64) error {
	return fmt.Errorf("%w: more than %d MiB of %s", ErrTooBig, limit>>20, what)
}

// limit returns a reader that passes on at most max bytes of r. The end of r is
// its end, and one byte more is an error.
func limit(r io.Reader, what string, max int64) io.Reader { return &limited{r, what, max, max} }

type limited struct {
	r         io.Reader
	what      string
	max, left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		n, err = int(l.left), tooMuch(l.what, l.max)
	}
	l.left -= int64(n)
	return n, err
}

// Answer stores the whole output of a child; use it for output known to be
// small.
func Answer(into *[]byte) func(io.Reader) error {
	return func(r io.Reader) (err error) {
		*into, err = io.ReadAll(limit(r, "an answer", maxAnswer))
		return err
	}
}

// tail keeps the end of what is written to it. It calls over, once, when more
// was written than may be.
type tail struct {
	keep    int
	max     int64
	over    func(error)
	buf     []byte
	written int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.keep {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.keep:]...)
	}
	if t.written += int64(len(p)); t.written > t.max && t.over != nil {
		t.over(tooMuch("complaints", t.max))
		t.over = nil
	}
	return len(p), nil
}

func (t *tail) String() string {
	return string(t.buf[max(0, len(t.buf)-t.keep):])
}

// lineError explains why the lines of a child could not be read.
func lineError(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: a line of more than %d KiB", ErrTooBig, bufio.MaxScanTokenSize>>10)
	}
	return err
}
