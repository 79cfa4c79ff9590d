package ffmpeg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// Ahead keeps one ffprobe started that waits for its file. ffprobe has some 200 libraries to load, which
// takes 80 ms: several times as long as it looks into a short video.
//
// How can it wait? Before it opens its input it prints a banner to stderr, and that is a pipe which is
// full. Once there is a file, it gets the name that the program was told, and the pipe is emptied. A
// version that prints no banner finds no file and ends, which is noticed.
type Ahead struct {
	run    *Runner
	policy sandbox.Policy
	args   func(source string) []string
	ready  chan *waiting // has a sender while a program waits
}

// NewAhead returns an Ahead whose programs get these arguments and, besides reading their file, may do
// what the policy says. It starts none before Start.
func NewAhead(run *Runner, policy sandbox.Policy, args func(source string) []string) *Ahead {
	return &Ahead{run: run, policy: policy, args: args, ready: make(chan *waiting)}
}

var (
	// ErrNoneAhead means that no program waits at the moment.
	ErrNoneAhead  = errors.New("no ffprobe was started ahead")
	errNotWaiting = errors.New("this ffprobe does not wait for its file")
	errNotLinked  = errors.New("the file cannot be given to an ffprobe that was started ahead")
)

// Probe looks into the source of a job with the program that waits. stdout reads what it prints. Any
// error means no more than that the file has to be probed in the usual way, which finds out what is
// wrong with it.
func (a *Ahead) Probe(ctx context.Context, job Job, stdout func(io.Reader) error) (err error) {
	select {
	case w := <-a.ready:
		defer func() { w.ended <- err }()
		return a.serve(ctx, w, job, stdout)
	default:
		return ErrNoneAhead
	}
}

// retryAhead is how long nothing is started ahead after a program that was of no use.
const retryAhead = 10 * time.Minute

// Start keeps a program started, in a folder of its own below dir, until ctx ends. It can be given
// files of the same file system only. The next program is started when no other child runs: under load
// it would take the time of those that somebody waits for.
func (a *Ahead) Start(ctx context.Context, dir string) {
	go func() {
		runtime.LockOSThread() // the kernel kills a child with the thread that started it
		defer runtime.UnlockOSThread()
		for a.run.busy.waitForNone(ctx) {
			if a.offer(ctx, dir) == nil {
				continue
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryAhead):
			}
		}
	}()
}

// offer starts a program and waits until somebody has used it. It returns why the next one would be of
// no use either.
func (a *Ahead) offer(ctx context.Context, dir string) error {
	folder, err := os.MkdirTemp(dir, "ahead-")
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
	select {
	case a.ready <- w:
		if err := <-w.ended; errors.Is(err, errNotLinked) {
			return err
		}
		return nil // a file that it could not read says nothing about the next one
	case <-w.spoke: // or it has died
		w.stop(errNotWaiting)
		return errors.Join(errNotWaiting, w.child.Wait())
	}
}

// waiting is a program that waits for its file.
type waiting struct {
	ctx    context.Context
	stop   context.CancelCauseFunc // kills it
	child  *sandbox.Child
	source string // the name that its file will have
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
	w.stdout, w.spoke = bufio.NewReader(stdout), spoke
	go func() {
		defer close(spoke)
		_, _ = w.stdout.Peek(1) // who reads on gets the error
	}()
	return w, nil
}

// serve gives a file to a program and lets it go on.
func (a *Ahead) serve(ctx context.Context, w *waiting, job Job, stdout func(io.Reader) error) error {
	defer a.run.busy.begin()()
	defer context.AfterFunc(ctx, func() { w.stop(context.Cause(ctx)) })()
	if err := os.Link(job.Source, w.source); err != nil {
		w.stop(errNotLinked)
		<-w.spoke
		return fmt.Errorf("%w: %w", errNotLinked, errors.Join(err, w.child.Wait()))
	}
	policy := a.policy
	policy.Nice = a.run.niceness(job)
	policy.LowerPriority(w.child.Cmd.Process.Pid)
	var drained sync.WaitGroup
	drained.Go(func() { _, _ = io.Copy(io.Discard, w.stderr) })
	defer drained.Wait()
	defer w.stop(nil) // in case that stdout panics
	p := process{
		bin: a.run.ffprobe, args: a.args(job.Source), job: job, policy: policy,
		stdout: func(out io.Reader) error {
			<-w.spoke // until then another goroutine reads
			return stdout(limit(out, "packets", maxPackets(job.Source)))
		},
	}
	return p.finish(w.ctx, w.stop, w.child, w.stdout, new(tail))
}

// bannered returns arguments with which ffprobe prints its banner, and then only what it was told to:
// for the banner the first level of messages counts, and later on the last one.
func bannered(args []string) []string {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-hide_banner" })
	return append([]string{"-v", "info"}, args...)
}

// newFullPipe returns a pipe that takes nothing any more.
func newFullPipe() (r, w *os.File, err error) {
	const patience, most = 10 * time.Millisecond, 4 << 20 // bytes; pipes hold less
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err = w.SetWriteDeadline(time.Now().Add(patience)); err == nil {
		_, err = w.Write(make([]byte, most))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, nil, errors.Join(fmt.Errorf("fill a pipe: %w", err), r.Close(), w.Close())
	}
	return r, w, nil
}
