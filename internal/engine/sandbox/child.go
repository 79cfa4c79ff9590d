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
	"sync"
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
// of Cmd before Start, and nothing else, and calls the methods of Child instead
// of those of Cmd.
type Child struct {
	Cmd *exec.Cmd

	policy   Policy
	confined bool // a helper applies the policy
	ctx      context.Context
	stop     context.CancelCauseFunc // kills it
	threads  *threadGuard            // nil if new threads are not counted one by one
	groups   *groups                 // nil if there are no control groups
	group    *group                  // nil if it is in none of its own
	ended    chan struct{}
	guards   sync.WaitGroup
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
	if c.threads != nil {
		if err := c.threads.open(c.Cmd); err != nil {
			return err
		}
		defer c.threads.started()
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
	if c.threads != nil {
		c.guards.Go(func() { c.threads.serve(c.Cmd.Process.Pid, c.stop) })
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
	if c.threads != nil {
		c.threads.close()
	}
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
// some file systems tell the space that is really used seconds later, and files
// of videos have no holes.
func spaceOf(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0 // it is gone
	}
	return info.Size()
}

// checkThreads counts the threads.
func (c *Child) checkThreads() error {
	if n, err := countThreads(c.Cmd.Process.Pid); err == nil && c.policy.Threads > 0 && n > c.policy.Threads {
		return tooManyThreads(c.policy.Threads)
	}
	return nil
}

func tooManyThreads(limit int) error { return fmt.Errorf("%w: more than %d", ErrThreads, limit) }
