package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// suspect returns ErrHole when a run on a source with holes was not flawless: it
// failed, or ffmpeg complained about anything. A hole reads as zeros, which must
// never pass for what the film shows. Trouble of the machine stays what it is.
func (j Job) SparseError(ctx context.Context, err error, stderr string) error {
	if !j.Sparse || ctx.Err() != nil || errors.Is(err, ErrSandbox) {
		return nil
	}
	if _, ok := errors.AsType[syscall.Errno](MachineError(err, stderr)); ok {
		return nil
	}
	said := complaint(stderr)
	if err == nil && said == "" {
		return nil
	}
	return fmt.Errorf("%w: %v %s", ErrSparse, err, said)
}

// harmless are complaints that holes do not cause: the chatter of encoders, and
// what decoders say of frames that lead the keyframe at which they begin. A
// packet of zeros is complained about for its own sake, whatever it leads to.
var harmless = []string{
	"Svt[", "x265 [", "Last message repeated",
	"mmco: unref short failure", "reference picture missing during reorder", "Missing reference picture",
	"co located POCs unavailable", "Could not find ref with POC",
}

// complaint returns the first line of what ffmpeg said that holes may be the
// cause of.
func complaint(stderr string) string {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(line, h) }) {
			return line
		}
	}
	return ""
}

// lacking returns ErrHole when a source with holes gave another number of frames
// than the file announces.
func (j Job) MissingFrames(got, want int) error {
	if !j.Sparse || want == 0 || got == want {
		return nil
	}
	return fmt.Errorf("%w: it has %d frames instead of %d", ErrSparse, got, want)
}
