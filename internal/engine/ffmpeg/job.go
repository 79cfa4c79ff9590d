package ffmpeg

import (
	"errors"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Errors that a worker tells apart. The machine may be the cause of each as well
// as the file, so none of them is a *video.Failure: the caller counts them and
// decides when to give up.
var (
	// ErrStalled means that a run was killed because it made no progress for too
	// long.
	ErrStalled = errors.New("no progress for too long")
	// ErrTimeLimit means that a run took longer than a file of its size may.
	ErrTimeLimit = errors.New("time limit reached")
	// ErrMemory means that a run needed more memory than its limit.
	ErrMemory = errors.New("memory limit reached")
	// ErrTooBig means that a run wrote more than its outputs can need.
	ErrTooBig = errors.New("output limit reached")
	// ErrThreads means that a run started more threads than any video needs.
	ErrThreads = errors.New("thread limit reached")
	// ErrCrashed means that ffmpeg itself crashed.
	ErrCrashed = errors.New("ffmpeg crashed")
	// ErrKilled means that another process killed ffmpeg: mostly the kernel,
	// when the whole machine was out of memory.
	ErrKilled = errors.New("ffmpeg was killed")
	// ErrSandbox means that the sandbox could not be built, which is the
	// machine's fault.
	ErrSandbox = errors.New("sandbox could not be built")
	// ErrNotStarted means that ffmpeg could not be started, which is the machine's
	// fault too: it is being replaced, or is not installed any more.
	ErrNotStarted = errors.New("ffmpeg could not be started")
	// ErrNotFFmpeg means that the program ended well without telling so, as every
	// ffmpeg does: it is a wrapper that fails silently, or something else. What it
	// did not make says nothing about the file.
	ErrNotFFmpeg = errors.New("ffmpeg ended without having done anything: is it the right program?")
	// ErrSparse means that a run on a sparse source was not flawless. Whether
	// the file or a missing part is the cause cannot be told, so the task has to
	// be repeated with the whole file.
	ErrSparse = errors.New("the parts of the source that were fetched are not enough")
)

// Job is where one run works: it reads Source and writes below OutDir only.
type Job struct {
	Source string // the uploaded file, under a name of ours
	OutDir string // an empty folder that belongs to the task

	// Sparse says that Source holds only the bytes that the plan says are
	// needed, and zeros elsewhere. A run that is not flawless is then ErrSparse.
	Sparse bool

	// Sound says that Source may be a file with sound alone.
	Sound bool

	// Patience is for how much longer than others a run may make no progress: it has to read
	// much of the source before its first output.
	Patience time.Duration

	// Yield is the part of Config.Nice by which its children stand back: 0 if
	// a viewer or the rest of the work waits for this very job, 1 for most, and more for
	// background work.
	Yield float64

	// Ran is called after every child process has ended. It may be nil.
	Ran func(video.Execution)
}

// Progress is called with the share of a run that is done, from 0 to 1. It is
// called from one goroutine and never after the run returned. It may be nil.
type Progress func(done float64)

// Report calls p, if there is one, with done limited to 0…1.
func (p Progress) Report(done float64) {
	if p != nil {
		p(min(max(done, 0), 1))
	}
}
