package ffmpeg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// Ahead keeps one ffprobe started for a while that waits for its file. ffprobe has some 200 libraries to load, which
// takes 80 ms: several times as long as it looks into a short video.
//
// How can it wait? Before it opens its input it prints a banner to stderr, and that is a pipe which is
// full. Once there is a file, it gets the name that the program was told, and the pipe is emptied. A
// version that prints no banner finds no file and ends.
type Ahead struct {
	run     *Runner
	policy  sandbox.Policy
	args    func(source string) []string
	ready   chan *waiting // has a sender while a program waits
	useless atomic.Bool   // somebody found out that what waits is of no use
	retry   time.Duration // how long nothing is started after that
}

// NewAhead returns an Ahead whose programs get these arguments and, besides reading their file, may do
// what the policy says. It starts none before Run.
func NewAhead(run *Runner, policy sandbox.Policy, args func(source string) []string) *Ahead {
	return &Ahead{run: run, policy: policy, args: args, ready: make(chan *waiting), retry: retryAhead}
}

var (
	// ErrNoneAhead means that no program waits at the moment.
	ErrNoneAhead  = errors.New("no ffprobe was started ahead")
	errNotWaiting = errors.New("ffprobe does not wait for its file")
	errNotLinked  = errors.New("a second name cannot be given to a file")
	errUseless    = errors.New("ffprobe fails on a file if it is started ahead of it")
)

// Probe looks into the source of a job with the program that waits. stdout reads what it prints. Any
// error means no more than that the file has to be probed in the usual way, which finds out what is
// wrong with it. If nothing is, call Useless.
func (a *Ahead) Probe(ctx context.Context, job Job, stdout func(io.Reader) error) (err error) {
	select {
	case w := <-a.ready:
		defer func() { w.ended <- err }()
		return a.serve(ctx, w, job, stdout)
	default:
		return ErrNoneAhead
	}
}

// Useless says that Probe failed on a file that is in order.
func (a *Ahead) Useless() { a.useless.Store(true) }

const (
	// retryAhead is how long nothing is started ahead after a program that was of no use.
	retryAhead = 10 * time.Minute
	// longestWait is how long a program waits. One video is often followed by another, and a server that
	// has nothing to do should have no other processes.
	longestWait = 20 * time.Second
	// calm is how long no other child must have run before one is started ahead: longer than the
	// pauses between the children of one video, which somebody waits for.
	calm = 100 * time.Millisecond
	// pipeTimeout is how long the pipes of a program that was killed may stay open.
	pipeTimeout = 2 * time.Second
)

// Run starts a program at once and after each video, until ctx ends. dir is for this alone: what a killed process left there is
// removed. Programs can be given files of the same file system only.
func (a *Ahead) Run(ctx context.Context, dir string, log *slog.Logger) {
	runtime.LockOSThread() // the kernel kills a child with the thread that started it
	defer runtime.UnlockOSThread()
	if err := os.RemoveAll(dir); err != nil {
		log.WarnContext(ctx, "could not clear the folder of the ffprobe that is started ahead", "err", err)
	}
	const atOnce = -1
	for seen := atOnce; a.run.busy.waitForMore(ctx, seen) && a.run.busy.waitForCalm(ctx, calm); {
		seen = a.run.busy.count()
		err := errUseless
		if !a.useless.Swap(false) { // by now the usual run of the last file has ended
			err = a.offer(ctx, dir)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		log.InfoContext(ctx, "no ffprobe is started ahead for a while", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(a.retry):
		}
		a.useless.Store(false)
		seen = atOnce
	}
}

// offer starts a program and waits until somebody has used it. It returns why the next one would be of
// no use either.
func (a *Ahead) offer(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(dir, "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	w, err := a.start(ctx, folder)
	if err != nil {
		return err
	}
	defer w.stop(nil)
	defer w.stderr.Close()
	old := time.NewTimer(longestWait)
	defer old.Stop()
	select {
	case a.ready <- w:
		if err := <-w.ended; errors.Is(err, errNotLinked) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // a file that it could not read says nothing about the next one
	case <-w.spoke: // or it has died
		return errors.Join(errNotWaiting, w.end(errNotWaiting))
	case <-old.C:
		_ = w.end(nil)
		return nil
	case <-ctx.Done():
		return w.end(context.Cause(ctx))
	}
}

// waiting is a program that waits for its file.
type waiting struct {
	ctx    context.Context
	stop   context.CancelCauseFunc // kills it
	child  *sandbox.Child
	source string    // the name that its file will have
	pipe   io.Closer // of stdout
	stdout *bufio.Reader
	spoke  <-chan struct{} // closed when it prints something or ends
	stderr *os.File        // the other end of the full pipe
	ended  chan error      // gets how it was used
}

// start starts a program whose stderr is full.
func (a *Ahead) start(ctx context.Context, folder string) (*waiting, error) {
	stderr, full, err := newFullPipe()
	if err != nil {
		return nil, err
	}
	defer full.Close()
	w := &waiting{source: filepath.Join(folder, "source"), stderr: stderr, ended: make(chan error)}
	w.ctx, w.stop = context.WithCancelCause(ctx)
	policy := a.policy
	policy.Read = []string{folder}
	w.child = a.run.sandbox.Command(w.ctx, policy, a.run.ffprobe, bannered(a.args(w.source))...)
	w.child.Cmd.Dir, w.child.Cmd.Stderr = folder, full
	stdout, err := process{bin: a.run.ffprobe}.start(w.ctx, w.child)
	if err != nil {
		w.stop(err)
		return nil, errors.Join(err, stderr.Close())
	}
	spoke := make(chan struct{})
	w.pipe, w.stdout, w.spoke = stdout, bufio.NewReader(stdout), spoke
	go func() {
		defer close(spoke)
		_, _ = w.stdout.Peek(1) // who reads on gets the error
	}()
	return w, nil
}

// end kills a program that nobody uses. Where it is a script, the ffprobe that this has started dies of
// the closed pipe.
func (w *waiting) end(why error) error {
	w.stop(why)
	w.stderr.Close()
	err := w.child.Wait() // closes stdout, too
	<-w.spoke
	return err
}

// serve gives a file to a program and lets it go on.
func (a *Ahead) serve(ctx context.Context, w *waiting, job Job, stdout func(io.Reader) error) error {
	defer a.run.busy.begin()()
	if err := os.Link(job.Source, w.source); err != nil {
		_ = w.end(errNotLinked)
		return fmt.Errorf("%w: %w", errNotLinked, err)
	}
	defer context.AfterFunc(ctx, func() { w.stop(context.Cause(ctx)) })()
	defer context.AfterFunc(w.ctx, func() {
		time.AfterFunc(pipeTimeout, func() { w.pipe.Close() }) // something else may still have it
	})()
	policy := a.policy
	policy.Nice = a.run.niceness(job)
	policy.LowerPriority(w.child.Cmd.Process.Pid)
	var drained sync.WaitGroup
	drained.Go(func() {
		_, _ = io.CopyN(io.Discard, w.stderr, maxStderr)
		w.stderr.Close()
	})
	defer drained.Wait()
	defer w.stderr.Close() // likewise
	if ran := job.Ran; ran != nil {
		job.Ran = func(e video.Execution) {
			if e.Result == video.ExecutionOK { // otherwise the usual run counts
				ran(e)
			}
		}
	}
	p := process{
		bin: a.run.ffprobe, args: a.args(job.Source), job: job, policy: policy,
		stdout: func(out io.Reader) error {
			select {
			case <-w.spoke: // until then another goroutine reads
				return stdout(limit(out, "packets", maxPackets(job.Source)))
			case <-w.ctx.Done():
				return context.Cause(w.ctx)
			}
		},
	}
	return p.finish(w.ctx, w.stop, w.child, time.Now(), w.stdout, new(tail))
}

// bannered returns arguments with which ffprobe prints its banner, and then only what it was told to:
// for the banner the first level of messages counts, and later on the last one.
func bannered(args []string) []string {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-hide_banner" })
	return append([]string{"-v", "info"}, args...)
}

// newFullPipe returns a pipe that takes nothing any more.
func newFullPipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	conn, err := w.SyscallConn()
	if err == nil {
		var full error
		err = errors.Join(conn.Control(func(fd uintptr) { full = fill(int(fd)) }), full)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("fill a pipe: %w", err), r.Close(), w.Close())
	}
	return r, w, nil
}

// fill writes to a pipe until it takes no more.
func fill(pipe int) error {
	err := syscall.SetNonblock(pipe, true) // until it is given to a child
	for err == nil || errors.Is(err, syscall.EINTR) {
		_, err = syscall.Write(pipe, make([]byte, 4<<10))
	}
	if errors.Is(err, syscall.EAGAIN) {
		return nil
	}
	return err
}
