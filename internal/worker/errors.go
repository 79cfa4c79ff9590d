package worker

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

const (
	// maxFailures is how often a task may fail for an unknown reason before its video is given up.
	// Transient failures of this machine do not count.
	maxFailures = 3
	// maxKills is the same for child processes that another process killed: mostly the kernel of a
	// machine that is short of memory for a while, but there may be files that no machine has enough
	// memory for.
	maxKills = 10
	// maxMisses is the same for a source or a chunk file that the storage does not find. With the
	// pauses between them that is half a minute: a storage that is eventually consistent, or has just
	// failed over, may deny what it has.
	maxMisses = 7
)

// maxAttempts is how often a task may fail with an error that is not transient before it is given up.
func maxAttempts(err error) int {
	switch {
	case errors.Is(err, ffmpeg.ErrKilled):
		return maxKills
	case missing(err):
		return maxMisses
	}
	return maxFailures
}

// missing reports whether a source or a chunk file is gone, or was never made.
func missing(err error) bool {
	return errors.Is(err, pipeline.ErrSourceGone) || errors.Is(err, pipeline.ErrPartsMissing) || errors.Is(err, fs.ErrNotExist)
}

// conversionError is an error of the engine: the file may be to blame.
type conversionError struct{ error }

func (c conversionError) Unwrap() error { return c.error }

func conversion(err error) error {
	if err == nil {
		return nil
	}
	return conversionError{err}
}

// scratchError is an error of the folder where tasks work, whatever the engine made of it.
type scratchError struct{ error }

func (s scratchError) Unwrap() error { return s.error }

// storageError is an error of the storage in the middle of a conversion.
type storageError struct{ error }

func (s storageError) Unwrap() error { return s.error }

// transient reports whether an error is one of this machine or its services, so that the file is not
// to blame however often it happens.
func transient(err error) bool {
	if _, ok := errors.AsType[scratchError](err); ok {
		return true
	}
	if errors.Is(err, ffmpeg.ErrSandbox) || errors.Is(err, ffmpeg.ErrNotStarted) {
		return true
	}
	if missing(err) {
		return false // it will not come back
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return true // a full disk, too many open files, and the like
	}
	if _, ok := errors.AsType[storageError](err); ok {
		return true
	}
	_, converting := errors.AsType[conversionError](err)
	return !converting
}

// explain says in a sentence why a task that failed too often was given up.
func explain(err error) *video.Failure {
	switch {
	case errors.Is(err, ffmpeg.ErrStalled):
		return video.Failf(video.LimitTime, "Converting this file made no progress for too long.")
	case errors.Is(err, ffmpeg.ErrTimeLimit):
		return video.Failf(video.LimitTime, "Converting this file took longer than a video of its length and size may.")
	case errors.Is(err, ffmpeg.ErrMemory):
		return video.Failf(video.LimitMemory, "Converting this file takes more memory than a video may use.")
	case errors.Is(err, ffmpeg.ErrTooBig):
		return video.Failf(video.Corrupt, "Converting this file gave far more data than a video of its length can hold.")
	case errors.Is(err, ffmpeg.ErrThreads):
		return video.Failf(video.Corrupt, "Converting this file started far more threads than a video needs.")
	case errors.Is(err, ffmpeg.ErrCrashed):
		return video.Failf(video.Corrupt, "The file is damaged in a way that makes the converter crash.")
	case errors.Is(err, ffmpeg.ErrKilled):
		return video.Failf(video.LimitMemory, "Converting this file was stopped again and again, probably for lack of memory.")
	case errors.Is(err, pipeline.ErrSourceGone):
		return video.Failf(video.InternalFailure, "The uploaded file is no longer in the storage.")
	}
	return video.Failf(video.InternalFailure, "Converting this file failed several times for a reason that is not known. The server's log has the details.")
}
