package ffmpeg

import (
	"errors"

	"github.com/spool-video/spool/internal/video"
)

// Errors that a worker tells apart. Each may be the machine's fault as well as
// the file's, so none of them is a *video.Failure: whoever runs the task counts
// them and decides when to give up.
var (
	// ErrStalled means that a run was killed because nothing had moved for
	// Config.StallTimeout.
	ErrStalled = errors.New("no progress for too long")
	// ErrTimeLimit means that a run took longer than a file of its size may.
	ErrTimeLimit = errors.New("time limit reached")
	// ErrMemory means that a run needed more memory than it was given.
	ErrMemory = errors.New("memory limit reached")
	// ErrTooBig means that a run wrote more than its film can need.
	ErrTooBig = errors.New("output limit reached")
	// ErrCrashed means that ffmpeg itself crashed.
	ErrCrashed = errors.New("ffmpeg crashed")
	// ErrKilled means that somebody else killed ffmpeg: mostly the kernel, when
	// memory ran out on the whole machine.
	ErrKilled = errors.New("ffmpeg was killed")
	// ErrSandbox means that the sandbox could not be built: the machine's fault.
	ErrSandbox = errors.New("sandbox could not be built")
	// ErrHole means that a source with holes gave anything but a flawless result.
	// Nobody knows whether the file or a hole is to blame: the task is to be done
	// again with the whole file.
	ErrSparse = errors.New("the part of the source that was read does not do")
)

// Job is where one run works: it reads Source and writes below OutDir only.
type Job struct {
	Source string // the uploaded file, under a name of ours
	OutDir string // an empty folder of the task's own

	// Sparse says that Source has no more than the bytes that the plan says are
	// needed. A run that is not flawless is ErrHole then.
	Sparse bool

	// Ran is told about every child process that has ended. It may be nil.
	Ran func(video.Execution)
}

// Progress is told how much of a run is done, from 0 to 1. It is called from
// one goroutine and never after the run returned. It may be nil.
type Progress func(done float64)

func (p Progress) Report(done float64) {
	if p != nil {
		p(min(max(done, 0), 1))
	}
}
