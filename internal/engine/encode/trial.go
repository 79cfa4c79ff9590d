package encode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// A trial encodes a second of a test pattern with a keyframe in its middle.
const (
	trialRate   = 25
	trialKey    = 10 // the frame at which a keyframe is requested
	trialTime   = 30 * time.Second
	trialMemory = 2 << 30
)

// choose returns the encoder for a codec: the requested hardware's if it works,
// else the software's.
func (enc *Encoder) choose(ctx context.Context, codec video.Codec, want Accelerator) (codecEncoder, error) {
	e, err := enc.firstThatWorks(ctx, encodersFor(codec, want))
	if err != nil {
		return codecEncoder{}, fmt.Errorf("find an encoder for %s: %w", codec, err)
	}
	return e, nil
}

// firstThatWorks tries encoders in turn. ffmpeg lists encoders whose hardware or
// driver is missing, so each has to pass a trial, in the same sandbox that it
// will run in.
func (enc *Encoder) firstThatWorks(ctx context.Context, candidates []codecEncoder) (codecEncoder, error) {
	var reasons []error
	for _, e := range candidates {
		err := enc.trial(ctx, e)
		switch {
		case ctx.Err() != nil:
			return codecEncoder{}, context.Cause(ctx)
		case err == nil:
			enc.log.InfoContext(ctx, "encoder chosen", "encoder", e.name)
			return e, nil
		case e.accelerator != Software:
			enc.log.WarnContext(ctx, "this hardware encoder does not work here", "encoder", e.name, "err", err)
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", e.name, err))
	}
	return codecEncoder{}, fmt.Errorf("none works with this ffmpeg: %w", errors.Join(reasons...))
}

// trial checks that an encoder can encode, and that it puts a keyframe where it
// is told to, unless it is known not to.
func (enc *Encoder) trial(ctx context.Context, e codecEncoder) error {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errors.New("it did not finish a second of video in time"))
	defer cancel()
	packets, stderr, err := enc.run.Output(ctx, e.policy(sandbox.Policy{Memory: trialMemory, CPU: trialTime, Threads: ffmpeg.MaxThreads(1)}), trialArgs(e))
	if err != nil {
		return firstLine(err, stderr)
	}
	frames, keys := readTrial(packets)
	switch {
	case frames != trialRate:
		return fmt.Errorf("it made %d frames of %d", frames, trialRate)
	case !e.fixedGOP && !slices.Equal(keys, []int{0, trialKey}):
		return fmt.Errorf("it put keyframes at %v instead of 0 and %d", keys, trialKey)
	}
	return nil
}

// trialSize returns the size of the test pattern. Some hardware refuses small frames. Software takes any size,
// and a small one is fast: every start of the program waits for it.
func trialSize(a Accelerator) video.Rendition {
	if a == Software {
		return video.Rendition{Width: 160, Height: 90}
	}
	return video.Rendition{Width: 640, Height: 360}
}

// trialArgs encode to a list of packets on standard output.
func trialArgs(e codecEncoder) []string {
	r := trialSize(e.accelerator)
	p := &video.Plan{Codec: e.codec, Input: video.Input{FrameRate: trialRate}, Chunks: make([]video.Chunk, 1)}
	filters := "format=yuv420p"
	if e.upload != "" {
		filters += "," + e.upload
	}
	return slices.Concat([]string{"-nostdin", "-hide_banner", "-v", "error"}, e.setup,
		[]string{"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=%dx%d:r=%d:d=1", r.Width, r.Height, trialRate), "-vf", filters},
		e.args(settingsFor(p, r, 0, 1)),
		[]string{"-force_key_frames", fmt.Sprint(float64(trialKey) / trialRate), "-f", "framecrc", "pipe:1"})
}

// readTrial counts the packets that ffmpeg's framecrc lists, and returns the
// numbers of the keyframes. Only lines of other frames carry flags.
func readTrial(list []byte) (frames int, keys []int) {
	for line := range bytes.Lines(list) {
		if bytes.HasPrefix(line, []byte("#")) || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !bytes.Contains(line, []byte("F=0x")) {
			keys = append(keys, frames)
		}
		frames++
	}
	return frames, keys
}

// firstLine returns why ffmpeg failed in one line: the first message is the
// cause, the following are consequences.
func firstLine(err error, stderr string) error {
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Svt[info]") {
			return errors.New(line)
		}
	}
	return err
}
