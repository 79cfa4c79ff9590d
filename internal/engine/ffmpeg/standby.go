package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

const (
	// calm is for how long no other child has run when one is started in advance: it would take its time
	// from those that somebody waits for.
	calm = 200 * time.Millisecond
	// maxUnused is how many children in a row may end before they are given a file, and unfitPause is when
	// the next one is tried after that: this ffprobe may not wait at all, or the disk may be full.
	maxUnused  = 3
	unfitPause = 10 * time.Minute
)

// Standby keeps one ffprobe that is started already. Loading its libraries takes ten times as long as
// looking into a short clip does, and everybody waits for that look.
//
// It opens its output before its input, and its output is a named pipe, which cannot be opened before
// somebody reads it. So it waits there, with everything loaded, until it is given a file: a link in the
// one folder that it may read. It looks into that file and ends, as every other child does, in a sandbox
// of its own.
type Standby struct {
	run     *Runner
	policy  func(Job) sandbox.Policy
	args    func(source string) []string
	waiting atomic.Pointer[waiter] // nil if there is none
}

// NewStandby returns a standby that has none yet. The policy is that of a file of any name, the arguments
// those of a look at it.
func (r *Runner) NewStandby(policy func(Job) sandbox.Policy, args func(source string) []string) *Standby {
	return &Standby{run: r, policy: policy, args: args}
}

// waiter is one child that waits for a file.
type waiter struct {
	job     Job    // its own; the source is not there yet
	pipe    string // its output
	errands chan *errand
	errand  *errand                 // nil until it was given one
	given   chan struct{}           // closed then
	stop    context.CancelCauseFunc // kills it
	ends    []*os.File              // of the pipe
	gone    chan struct{}           // closed when it has ended
}

// errand is a file for it.
type errand struct {
	ctx   context.Context
	job   Job
	read  func(io.Reader) error
	began time.Time
	done  chan outcome
}

type outcome struct {
	stderr string
	err    error
}

// Probe has the child that waits look into the source of a job, as Runner.Probe does. It reports false if
// there is none.
func (s *Standby) Probe(ctx context.Context, job Job, stdout func(io.Reader) error) (stderr string, ran bool, err error) {
	w := s.waiting.Swap(nil)
	if w == nil {
		return "", false, nil
	}
	if err := w.take(job.Source); err != nil {
		s.waiting.CompareAndSwap(nil, w) // for another file
		return "", false, nil
	}
	e := &errand{ctx: ctx, job: job, read: stdout, began: time.Now(), done: make(chan outcome, 1)}
	select {
	case w.errands <- e:
	case <-w.gone:
		return "", false, nil
	}
	end := <-e.done
	return end.stderr, true, end.err
}

// take links a source into the folder of the child. Another file than a plain one, on another disk, or
// in a folder that somebody has cleared, is not for it.
func (w *waiter) take(source string) error {
	info, err := os.Lstat(source)
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New("no plain file"))
	}
	return os.Link(source, w.job.Source)
}

// Keep has a child wait in a folder of its own, which is cleared, and replaces it when it was used and no
// other runs. It returns when ctx has ended. If children do not wait, unfit is called with the reason, and
// nothing is tried for a while: files are probed all the same.
func (s *Standby) Keep(ctx context.Context, dir string, unfit func(error)) {
	err := os.RemoveAll(dir) // a process that was killed has left it
	defer os.RemoveAll(dir)
	for n, unused := 0, 0; s.run.waitCalm(ctx); n++ {
		var used bool
		if err == nil {
			used, err = s.waitOnce(ctx, filepath.Join(dir, strconv.Itoa(n)))
		}
		if unused++; used {
			unused = 0
		}
		if unused >= maxUnused && ctx.Err() == nil {
			unfit(fmt.Errorf("ffprobe does not wait for a file: %w", err))
			pause(ctx, unfitPause)
		}
		err = nil
	}
}

// pause waits for some time, or until ctx has ended.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// waitCalm waits until no child has run for a while. It reports false if ctx has ended.
func (r *Runner) waitCalm(ctx context.Context) bool {
	for {
		before := r.begun.Load()
		pause(ctx, calm)
		if ctx.Err() != nil {
			return false
		}
		if r.running.Load() == 0 && r.begun.Load() == before {
			return true
		}
	}
}

// waitOnce has one child wait, and reports whether it was given a file.
func (s *Standby) waitOnce(ctx context.Context, dir string) (used bool, err error) {
	w, err := newWaiter(dir)
	defer os.RemoveAll(dir)
	if err != nil {
		return false, err
	}
	may := s.policy(w.job)
	may.Read, may.Write = []string{filepath.Dir(w.job.Source)}, []string{w.pipe}
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	stderr, err := s.run.run(ctx, process{
		bin: s.run.ffprobe, args: append(s.args(w.job.Source), "-o", FileURL(w.pipe)), dir: dir, job: w.job, policy: may, held: w.given,
		stdout: func(out io.Reader) error {
			s.waiting.Store(w)
			return w.serve(out)
		},
	})
	s.waiting.CompareAndSwap(w, nil)
	close(w.gone)
	for _, f := range w.ends { // not earlier: it may have a last word, and nobody to hear it kills it
		_ = f.Close()
	}
	if w.errand == nil {
		return false, err
	}
	w.errand.done <- outcome{strings.ReplaceAll(stderr, w.job.Source, w.errand.job.Source), err}
	return true, nil
}

// newWaiter makes the folder of a child.
func newWaiter(dir string) (*waiter, error) {
	w := &waiter{pipe: filepath.Join(dir, "answers"), errands: make(chan *errand), given: make(chan struct{}), gone: make(chan struct{})}
	w.job = Job{Source: filepath.Join(dir, "in", "source"), OutDir: dir, Ran: w.ran}
	if err := os.MkdirAll(filepath.Dir(w.job.Source), 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for ffprobe: %w", err)
	}
	if err := syscall.Mkfifo(w.pipe, 0o600); err != nil {
		return nil, fmt.Errorf("make a pipe for ffprobe: %w", err)
	}
	return w, nil
}

// ran tells the owner of a job about its child. Its time counts from when it was given the file; what its
// start took of the processor is its own.
func (w *waiter) ran(x video.Execution) {
	if w.errand != nil && w.errand.job.Ran != nil {
		x.StartedAt, x.Wall = w.errand.began, time.Since(w.errand.began)
		w.errand.job.Ran(x)
	}
}

// serve waits for a file and has the answers read. stdout, on which the child prints nothing, ends when it
// does.
func (w *waiter) serve(stdout io.Reader) error {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		close(ended)
	}()
	select {
	case w.errand = <-w.errands:
	case <-ended:
		return nil
	}
	e := w.errand
	close(w.given)
	context.AfterFunc(e.ctx, func() { w.stop(context.Cause(e.ctx)) })
	answers, err := w.openPipe(ended)
	if err != nil {
		return err
	}
	return e.read(limit(answers, "packets", maxPackets(e.job.Source)))
}

// openPipe opens the output of the child, which lets it go on. A second end keeps the pipe from looking
// finished before the child has opened it: it is closed when the child has ended.
func (w *waiter) openPipe(ended <-chan struct{}) (io.Reader, error) {
	for _, mode := range []int{os.O_RDONLY, os.O_WRONLY} {
		f, err := os.OpenFile(w.pipe, mode|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, fmt.Errorf("open the pipe of ffprobe: %w", err)
		}
		w.ends = append(w.ends, f)
	}
	go func() {
		<-ended
		_ = w.ends[1].Close()
	}()
	return w.ends[0], nil
}
