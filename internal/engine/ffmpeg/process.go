package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

const (
	// keptStderr is how much of stderr is kept: hostile files make ffmpeg write
	// without end.
	keptStderr = 64 << 10
	// quotedStderr is how much of it goes into an error.
	quotedStderr = 2 << 10
)

// process is one run of a child.
type process struct {
	bin    string
	args   []string
	dir    string
	job    Job // whose Ran is called
	policy sandbox.Policy
	stdout func(io.Reader) error // reads to the end, or returns why the child has to be stopped
	stderr io.Writer             // reads the error messages, up to maxCounted; nil: they are not counted
}

// run executes a child to its end and returns the tail of its stderr. When ctx
// ends, the whole process group is killed and the error is the cause that ctx
// carries: a run that we stopped is never the file's fault.
//
// The kernel kills the child when the thread that started it ends, so this
// goroutine keeps its thread until the end.
func (r *Runner) run(ctx context.Context, p process) (stderr string, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lastStderr := &tail{keep: keptStderr, max: maxStderr, over: stop}
	p.policy.Nice = r.niceness(p.job)
	child := r.sandbox.Command(ctx, p.policy, p.bin, p.args...)
	child.Cmd.Dir = p.dir
	child.Cmd.Stderr = lastStderr
	if p.stderr != nil {
		lastStderr.max = maxCounted
		child.Cmd.Stderr = io.MultiWriter(lastStderr, p.stderr)
	}
	began := time.Now()
	stdout, err := p.start(ctx, child)
	if err != nil {
		return "", err
	}
	readErr := p.read(child, stdout, stop)
	err = child.Wait()
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil:
		err = &exitError{err: err, stderr: lastStderr.String(), kind: p.classify(err, lastStderr.String())}
	}
	p.record(child.Cmd.ProcessState, began, err)
	if err == nil {
		err = readErr
	}
	return lastStderr.String(), err
}

// niceness returns how far the children of a job stand back.
func (r *Runner) niceness(job Job) int { return int(math.Round(job.Yield * float64(r.nice))) }

// start starts a child. Its stdout must be read.
func (p process) start(ctx context.Context, child *sandbox.Child) (stdout io.ReadCloser, err error) {
	if stdout, err = child.Cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.bin, err)
	}
	if err := child.Start(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrNotStarted, p.bin, err)
	}
	return stdout, nil
}

// read passes what a child prints to the reader, and stops the child if the reader refuses it.
func (p process) read(child *sandbox.Child, stdout io.Reader, stop context.CancelCauseFunc) error {
	panicked := true
	defer func() {
		if panicked {
			stop(errors.New("what it printed made the reader panic"))
			_ = child.Wait()
		}
	}()
	err := p.stdout(stdout)
	panicked = false
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		stop(err) // an early end is explained by the exit status
	}
	return err
}

// exitError is a child that failed by itself.
type exitError struct {
	err    error
	stderr string
	kind   error // ErrSandbox, ErrMemory, ErrTimeLimit, ErrTooBig, ErrThreads, ErrCrashed, ErrKilled, or nil if unknown
}

func (e *exitError) Error() string {
	text := strings.TrimSpace(e.stderr)
	if cut := len(text) - quotedStderr; cut > 0 {
		text = "…" + strings.ToValidUTF8(text[cut:], "")
	}
	return fmt.Sprintf("%v: %s", e.err, text)
}

func (e *exitError) Unwrap() []error {
	if e.kind == nil {
		return []error{e.err}
	}
	return []error{e.err, e.kind}
}

// Exit codes of ffmpeg after signals, such as SIGXCPU when its processor time is
// used up: it ends in order, or at once when more signals arrive before it is done.
const (
	signalled      = 255
	tooManySignals = 123
)

// classify says what the end of a child means, as far as it can be known.
func (p process) classify(err error, stderr string) error {
	switch {
	case errors.Is(err, sandbox.ErrThreads):
		return ErrThreads
	case errors.Is(err, sandbox.ErrFolder):
		return ErrTooBig
	case errors.Is(err, sandbox.ErrMemory):
		return ErrMemory
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return nil
	}
	switch code := exit.ExitCode(); {
	case code == sandbox.ExitRefused:
		return ErrSandbox
	case code == tooManySignals, code == signalled && p.outOfTime(exit.ProcessState):
		return ErrTimeLimit
	}
	if strings.Contains(stderr, "Cannot allocate memory") || strings.Contains(stderr, "malloc failed") {
		return ErrMemory
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return nil
	}
	switch status.Signal() {
	case syscall.SIGXCPU:
		return ErrTimeLimit
	case syscall.SIGXFSZ:
		return ErrTooBig
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP,
		syscall.SIGSYS: // seccomp: only injected code would make such a system call
		return ErrCrashed
	}
	if p.outOfTime(exit.ProcessState) {
		return ErrTimeLimit // the kernel kills a process that ignores its signals
	}
	return ErrKilled
}

// outOfTime reports whether a child has used up its processor time. The kernel
// has two ways to count it, which differ a little.
func (p process) outOfTime(s *os.ProcessState) bool {
	return p.policy.CPU > 0 && s.UserTime()+s.SystemTime() >= p.policy.CPU*9/10
}
