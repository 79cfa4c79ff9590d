package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// flood is an attempt to take something without end. Nothing of it is denied by
// itself, so the program has to be killed.
type flood struct {
	what  string // follows "can"
	limit Policy
	take  func(dir string)
	want  error
}

// floodTime is how long it may take until a program is killed. It is killed at
// once; the rest is for machines with other things to do.
const floodTime = time.Minute

var errFloodTime = errors.New("its time is over")

// floods take several times what they may, which is little: the disk may be nearly
// full.
var floods = []flood{
	{"start threads without end", Policy{Threads: 30}, func(string) {
		for range 200 {
			go func() {
				runtime.LockOSThread()
				select {}
			}()
		}
	}, ErrThreads},
	{"make files without end", Policy{Files: 10}, func(dir string) { writeFiles(dir, 30, 0) }, ErrFolder},
	{"fill the disk", Policy{Space: 32 << 10, FileSize: 24 << 10}, func(dir string) { writeFiles(dir, 4, 16<<10) }, ErrFolder},
	{"run for ever", Policy{}, func(string) { signal.Ignore() }, errFloodTime},
}

// writeFiles writes so many files of a size. If that fails, nothing will come of
// the flood.
func writeFiles(dir string, files, size int) {
	for n := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), make([]byte, size), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// floodFor takes as the flood with a number does, and then waits to be killed.
func floodFor(number int, dir string) {
	floods[number].take(dir)
	time.Sleep(2 * floodTime)
}

// floodAll runs all floods at once, below a folder, and returns those that were
// not stopped.
func (s *Sandbox) floodAll(ctx context.Context, bin, below string) ([]string, error) {
	var group sync.WaitGroup
	ends, children := make([]error, len(floods)), make([]*Child, len(floods))
	for n := range floods {
		group.Go(func() {
			dir := filepath.Join(below, fmt.Sprint("flood", n))
			if ends[n] = os.Mkdir(dir, 0o700); ends[n] != nil {
				return
			}
			children[n], ends[n] = s.flood(ctx, bin, dir, n)
			if children[n].group != nil && children[n].Cmd.Process == nil {
				children[n], ends[n] = s.flood(ctx, bin, dir, n) // it could not be started in a control group
			}
		})
	}
	group.Wait()
	s.noteLevel(children)
	var found []string
	for n, f := range floods {
		if !errors.Is(ends[n], f.want) {
			found = append(found, fmt.Sprintf("can %s (%v)", f.what, ends[n]))
		}
	}
	return found, context.Cause(ctx)
}

// noteLevel corrects the report by what children have really got.
func (s *Sandbox) noteLevel(children []*Child) {
	for _, c := range children {
		if c == nil || c.policy.Threads <= 0 {
			continue
		}
		s.report.Threads = c.threads.counts()
		if s.groups != nil && c.group == nil {
			s.groups, s.report.Group, s.report.NoGroup = nil, false, "a program could not be started in one"
		}
	}
}

// flood runs one flood and returns how it ended.
func (s *Sandbox) flood(ctx context.Context, bin, dir string, number int) (*Child, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := floods[number]
	limit := floodTime
	if errors.Is(f.want, errFloodTime) {
		limit = watchEvery
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errFloodTime)
	defer cancel()
	policy := f.limit
	policy.WriteDir = dir
	child := newChild(ctx, policy, bin)
	child.groups = s.groups
	if child.Cmd.Err != nil {
		return child, child.Cmd.Err
	}
	if err := child.confineTrial(policy, trial{Flood: &number}, s.threads); err != nil {
		return child, err
	}
	err := child.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, ErrThreads), errors.Is(err, ErrFolder), err == nil:
		return child, err
	case ctx.Err() != nil:
		return child, context.Cause(ctx)
	case ended && policy.Threads > 0 && exit.ExitCode() > 0 && exit.ExitCode() != ExitRefused:
		return child, tooManyThreads(policy.Threads) // the container has even fewer, and it could not go on
	}
	return child, err
}
