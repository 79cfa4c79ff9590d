package ffmpeg

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spool-video/spool/internal/video"
)

// troubleOfOurs returns the error of a run that the film is not to blame for,
// or nil when the child ended by itself and had nothing to say about the machine.
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
		return err // a limit of ours, which the worker judges
	}
	return nil
}

// damaged reports whether ffmpeg blames the film for having made nothing.
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

func Undecodable() *video.Failure {
	return video.Failf(video.Corrupt, "The file is damaged: its pictures could not be read as video.")
}
