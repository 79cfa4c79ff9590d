package ffmpeg

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// keptArguments is how much of a command is recorded, in bytes.
const keptArguments = 8 << 10

// record passes a child that has ended to the owner of the job.
func (p process) record(state *os.ProcessState, began time.Time, err error) {
	if p.job.Ran == nil || state == nil {
		return
	}
	p.job.Ran(video.Execution{
		Program: filepath.Base(p.bin), Arguments: p.job.redact(p.args),
		StartedAt: began, Wall: time.Since(began), CPU: state.UserTime() + state.SystemTime(), Memory: peakMemory(state),
		Result: resultOf(err),
	})
}

// resultOf says in a few words how a child ended.
func resultOf(err error) string {
	exit, byItself := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return video.ExecutionOK
	case byItself && exit.kind != nil:
		return exit.kind.Error()
	case byItself:
		return exit.err.Error() // "exit status 1"
	case errors.Is(err, ErrStalled):
		return ErrStalled.Error()
	case errors.Is(err, ErrTimeLimit):
		return ErrTimeLimit.Error()
	}
	return "stopped" // by us: the result was not needed any more, or the output was refused
}

// peakMemory returns the peak memory of a child, or 0 if it is not known. On
// Linux the counter of a child starts at the memory of its parent, so a value
// that is not above our own says nothing.
func peakMemory(state *os.ProcessState) int64 {
	const unit = 1 << 10 // Linux counts in KiB
	child, ok := state.SysUsage().(*syscall.Rusage)
	var own syscall.Rusage
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || child.Maxrss <= own.Maxrss {
		return 0
	}
	return child.Maxrss * unit
}

// redact returns a command's arguments as they may be shown to users: the files
// of the job appear with their bare names, whatever folder they are in.
func (j Job) redact(args []string) []string {
	bare := strings.NewReplacer(filepath.Dir(j.Source)+"/", "", filepath.Dir(j.OutDir)+"/", "")
	var out []string
	size := 0
	for _, a := range args {
		a = bare.Replace(strings.ToValidUTF8(a, "?"))
		if size += len(a); size > keptArguments {
			return append(out, "…")
		}
		out = append(out, a)
	}
	return out
}
