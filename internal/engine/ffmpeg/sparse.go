package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// SparseError returns ErrSparse when a run on a sparse source was not flawless:
// it failed, or ffmpeg complained about anything. A part that was not fetched
// reads as zeros, which must never pass for what the video shows. Errors of the
// machine are not touched.
func (j Job) SparseError(ctx context.Context, err error, stderr string) error {
	if !j.Sparse || ctx.Err() != nil || errors.Is(err, ErrSandbox) || errors.Is(err, ErrNotStarted) || errors.Is(err, ErrNotFFmpeg) {
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

// harmless are messages that missing parts do not cause: what encoders print,
// and what decoders say of frames that precede the keyframe at which they begin.
// A packet of zeros also causes a message that is not among them.
var harmless = []string{
	"Svt[", "x265 [", "Last message repeated",
	"mmco: unref short failure", "reference picture missing during reorder", "Missing reference picture",
	"co located POCs unavailable", "Could not find ref with POC",
}

// complaint returns the first line of ffmpeg's messages that a missing part may
// be the cause of.
func complaint(stderr string) string {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(line, h) }) {
			return line
		}
	}
	return ""
}

// MissingFrames returns ErrSparse when a sparse source gave another number of
// frames than the file announces.
func (j Job) MissingFrames(got, want int) error {
	if !j.Sparse || want == 0 || got == want {
		return nil
	}
	return fmt.Errorf("%w: it has %d frames instead of %d", ErrSparse, got, want)
}
