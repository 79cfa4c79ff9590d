//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A program that takes more of these than it was given is killed, and Wait says
// so.
var (
	ErrThreads = errors.New("too many threads")
	ErrFolder  = errors.New("too much in its folder")
	ErrMemory  = errors.New("too much memory")
)

// UnfitError is a program that runs in no sandbox, however good that is.
type UnfitError struct{ err error }

func (e *UnfitError) Error() string { return e.err.Error() }

// Unwrap returns why.
func (e *UnfitError) Unwrap() error { return e.err }

// watchEvery is how often a running program is looked at. What it can take
// between two looks is limited by the speed of the disk alone.
const watchEvery = 100 * time.Millisecond

// Child is one run of a program. The caller may set Dir, Stdin, Stdout and Stderr
// of Cmd before Start, and nothing else, and calls the methods of Child, not of
// Cmd.
type Child struct {
	Cmd *exec.Cmd

	policy   Policy
	confined bool // a helper applies the policy
	ctx      context.Context
	stop     context.CancelCauseFunc // kills it
	groups   *groups                 // nil if there are no control groups
	group    *group                  // nil if it is in none of its own
	ended    chan struct{}
	guards   sync.WaitGroup // waits for watch
}

// Start starts the program. The kernel kills it when the thread that started it
// ends, so that no child outlives a server that was killed. The caller must
// therefore keep its thread (runtime.LockOSThread) from before Start until after
// Wait.
func (c *Child) Start() error {
	if c.Cmd.Err != nil { // the program is not there, or half written: no fault of the control group
		c.stop(nil)
		return c.Cmd.Err
	}
	c.makeGroup()
	if err := c.Cmd.Start(); err != nil {
		c.release()
		c.stop(nil)
		if c.group != nil {
			c.groups.broken.Store(true) // the next try does without
		}
		return err
	}
	if !c.confined {
		c.policy.LowerPriority(c.Cmd.Process.Pid)
	}
	if c.watched() {
		c.guards.Go(c.watch)
	}
	return nil
}

// Wait waits for the end of the program. A limit that it has reached is the
// error, whatever its own end was.
func (c *Child) Wait() error {
	err := c.Cmd.Wait()
	close(c.ended)
	outOfMemory := err != nil && c.group != nil && c.group.outOfMemory()
	c.release()
	c.guards.Wait()
	reached := context.Cause(c.ctx)
	c.stop(nil)
	if outOfMemory && reached == nil {
		return ErrMemory
	}
	if errors.Is(reached, ErrThreads) || errors.Is(reached, ErrFolder) {
		return reached
	}
	if err == nil {
		err = c.checkFolder() // what it wrote since the last look
	}
	return err
}

// Run starts the program and waits for its end.
func (c *Child) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// makeGroup gives the program a control group, where there are any. Without one,
// the other limits hold.
func (c *Child) makeGroup() {
	if c.groups == nil || c.groups.broken.Load() || c.policy.Memory <= 0 && c.policy.Threads <= 0 {
		return
	}
	var err error
	if c.group, err = c.groups.make(c.policy); err == nil {
		c.group.enter(c.Cmd)
	}
}

// release gives back what the program had beside its own.
func (c *Child) release() {
	if c.group != nil {
		c.group.close()
	}
}

func (c *Child) watched() bool {
	return c.policy.WriteDir != "" && (c.policy.Files > 0 || c.policy.Space > 0) || c.policy.Threads > 0
}

// watch looks at the program regularly, and kills it when it has taken too much.
func (c *Child) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-tick.C:
		}
		if err := errors.Join(c.checkFolder(), c.checkThreads()); err != nil {
			c.stop(err)
			return
		}
	}
}

// checkFolder sums up the folder. The program can make no folders, no links and
// no files without a name, and can remove none, so this is all that it wrote.
func (c *Child) checkFolder() error {
	if c.policy.WriteDir == "" || c.policy.Files <= 0 && c.policy.Space <= 0 {
		return nil
	}
	dir, err := os.Open(c.policy.WriteDir)
	if err != nil {
		return nil // somebody removed it, and the caller will notice
	}
	defer dir.Close()
	var space int64
	for files := 0; ; {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			if files++; c.policy.Files > 0 && files > c.policy.Files {
				return fmt.Errorf("%w: more than %d files", ErrFolder, c.policy.Files)
			}
			space += spaceOf(e)
		}
		if c.policy.Space > 0 && space > c.policy.Space {
			return fmt.Errorf("%w: more than %d MiB", ErrFolder, c.policy.Space>>20)
		}
		if errors.Is(err, io.EOF) || len(entries) == 0 {
			return nil
		}
	}
}

// spaceOf returns how much disk space a file takes, or would without its holes:
// space can be reserved behind the end of a file, and some file systems tell
// the space that is used seconds later.
func spaceOf(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0 // it is gone
	}
	const block = 512 // bytes, on every system
	space := info.Size()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		space = max(space, stat.Blocks*block)
	}
	return space
}

// checkThreads counts the threads. Where /proc does not say how many there are, only
// a control group limits them.
func (c *Child) checkThreads() error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Cmd.Process.Pid))
	if err != nil || c.policy.Threads <= 0 {
		return nil
	}
	for line := range strings.Lines(string(status)) {
		count, found := strings.CutPrefix(line, "Threads:")
		if n, err := strconv.Atoi(strings.TrimSpace(count)); found && err == nil && n > c.policy.Threads {
			return fmt.Errorf("%w: %d, and %d are allowed", ErrThreads, n, c.policy.Threads)
		}
	}
	return nil
}
