package ffmpeg

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// RepeatErrors are the options with which ffmpeg prints every error. By default it leaves out repetitions
// of the error before, and does not even count them if the run ends there.
var RepeatErrors = []string{"-v", "repeat+error"}

// EncodeCounting is Encode for a run with RepeatErrors. It also returns how many packets of a stream of the first
// input could not be decoded: ffmpeg goes on without them, and its exit status says nothing about it.
func (r *Runner) EncodeCounting(ctx context.Context, job Job, may sandbox.Policy, args []string, stream int, position func(seconds float64)) (undecoded int, stderr string, err error) {
	count := newUndecodedCounter(stream)
	stderr, err = r.encode(ctx, job, may, args, count, position)
	return count.packets, stderr, err
}

// undecodedCounter counts the packets of a stream that ffmpeg says it could not decode.
type undecodedCounter struct {
	old     []byte // what ffmpeg up to 6.0 prints about a packet
	stream  []byte // what later ones begin a line about the stream with
	line    []byte // the beginning of the line that is being written
	packets int
}

func newUndecodedCounter(stream int) *undecodedCounter {
	return &undecodedCounter{old: fmt.Appendf(nil, "Error while decoding stream #0:%d:", stream), stream: fmt.Appendf(nil, "ist#0:%d/", stream)}
}

// undecodedTexts are what ffmpeg since 6.1 prints about a packet, behind the name of its stream.
var undecodedTexts = [][]byte{[]byte("] Error submitting packet to decoder: "), []byte("] Decoding error: ")}

func (c *undecodedCounter) Write(p []byte) (int, error) {
	const longest = 1 << 10 // hostile files make lines without end
	for rest := p; len(rest) > 0; {
		part, after, ends := bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, part[:min(len(part), longest-len(c.line))]...)
		if ends {
			if c.counts(c.line) {
				c.packets++
			}
			c.line = c.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

// notImplemented ends a line about a packet that ffmpeg knows no way to decode: nothing is damaged.
var notImplemented = []byte("patches welcome")

func (c *undecodedCounter) counts(line []byte) bool {
	if bytes.Contains(line, notImplemented) {
		return false
	}
	return bytes.Contains(line, c.old) || bytes.Contains(line, c.stream) &&
		slices.ContainsFunc(undecodedTexts, func(text []byte) bool { return bytes.Contains(line, text) })
}
