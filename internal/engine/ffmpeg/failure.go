package ffmpeg

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spool-video/spool/internal/video"
)

// MachineError returns the error of a run for which the file is not to blame, or
// nil when the child ended by itself and reported no problem of the machine.
func MachineError(err error, stderr string) error {
	for text, errno := range map[string]syscall.Errno{
		"No space left on device": syscall.ENOSPC,
		"Disk quota exceeded":     syscall.EDQUOT,
	} {
		// ffmpeg 5.1 exits with 0 when the disk is full.
		if strings.Contains(stderr, text) {
			return fmt.Errorf("write output: %w", errno)
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && (!ok || exit.ExitCode() < 0) {
		return err // stopped by us, never started, or killed by a signal
	}
	if e, ok := errors.AsType[*exitError](err); ok && e.kind != nil {
		return err // one of our limits; the worker decides what it means
	}
	return nil
}

// SourceDamaged reports whether ffmpeg names the source as the reason for having
// made nothing.
func SourceDamaged(stderr string) bool {
	for _, text := range []string{
		"Invalid data found when processing input",
		"Cannot determine format of input stream",
		"Error while decoding stream",
		"moov atom not found",
		"not on whitelist",
	} {
		if strings.Contains(stderr, text) {
			return true
		}
	}
	return false
}

// Undecodable is the failure of a file in which no frame can be decoded.
func Undecodable() *video.Failure {
	return video.Failf(video.Corrupt, "The file is damaged: its video could not be decoded.")
}
