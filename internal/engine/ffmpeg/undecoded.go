package ffmpeg

import (
	"bytes"
	"context"
	"io"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// RepeatErrors are the options with which ffmpeg prints every error: as a rule it leaves out those that
// are the same as the one before, and the number of them too, if the run ends there.
var RepeatErrors = []string{"-v", "repeat+error"}

// EncodeCounting is Encode for a run with RepeatErrors that decodes one stream. It also returns how many
// packets could not be decoded: ffmpeg goes on without them, and its exit status says nothing about it.
func (r *Runner) EncodeCounting(ctx context.Context, job Job, may sandbox.Policy, args []string, position func(seconds float64)) (undecoded int, stderr string, err error) {
	count := &undecodedCounter{}
	stderr, err = r.encode(ctx, job, may, args, count, position)
	return count.packets, stderr, err
}

// undecodedCounter counts the packets that ffmpeg says it could not decode.
type undecodedCounter struct {
	line    []byte // the beginning of the line that is being written
	packets int
}

// undecodedTexts are what ffmpeg prints about a packet: up to 6.0, and after that.
var undecodedTexts = [][]byte{[]byte("Error while decoding stream"), []byte("Error submitting packet to decoder"), []byte("] Decoding error: ")}

func (c *undecodedCounter) Write(p []byte) (int, error) {
	const longest = 1 << 10 // hostile files make lines without end
	for rest := p; len(rest) > 0; {
		part, after, ends := bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, part[:min(len(part), longest-len(c.line))]...)
		if ends {
			for _, text := range undecodedTexts {
				if bytes.Contains(c.line, text) {
					c.packets++
					break
				}
			}
			c.line = c.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

var _ io.Writer = (*undecodedCounter)(nil)
