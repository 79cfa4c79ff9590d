//go:build unix

// Package sandbox runs ffmpeg and ffprobe on untrusted files. A program inside
// sees its libraries, one input and one folder for its output; it has no
// network, starts no other program, reaches no other process and cannot use more
// memory, time or disk than it was given.
//
// The server's binary starts itself again as a helper (package launch), which
// gives up its rights step by step and then becomes the program to run. Nothing
// of it needs privileges. The layers are:
//
// Landlock closes all files but the libraries, the inputs (read) and the output
// folder (plain files), and also TCP, and signals to other processes where the
// kernel can. A seccomp filter refuses sockets, new processes, mounts, ptrace,
// keyrings, io_uring and some ninety other system calls; calls of foreign
// architectures kill. Resource limits apply to memory, processor time, the size
// of each file and open files. The server counts threads and looks at the output
// folder while the program runs: a program that takes more than it was given is
// killed. The process leads a group of its own, is killed when the
// server dies however it dies, inherits no file, and has an environment of five
// constant variables.
//
// At start the server looks from inside whether each layer is on (Check), and
// refuses to start if one is not. The tests of this package attack the sandbox
// from inside. A run costs 2 to 3 ms more, most of it the start of a Go program.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

// Mode says whether programs are confined.
type Mode string

const (
	On  Mode = "on"
	Off Mode = "off" // only where the kernel leaves no choice: a hostile file can then do what the server can
)

// ExitRefused is the exit code of a child whose sandbox could not be built; it
// never became the program. The only line on its stderr says why. It is the
// machine's fault, not the file's.
const ExitRefused = launch.ExitRefused

// pipeTimeout is how long the pipes of a killed child may stay open.
const pipeTimeout = 2 * time.Second

// Policy is what one run may access and use. A limit of zero is no limit.
type Policy = launch.Policy

// Sandbox starts programs. The zero value does not confine them. It is safe for
// concurrent use.
type Sandbox struct {
	report Report
	groups *groups // nil if there are no control groups
}

// Report says which layers of protection are in use.
type Report struct {
	Landlock int  // version of its ABI; 0 means off
	Seccomp  bool // a filter for system calls
	Limits   bool // memory, file size, CPU time and open files are limited
	// Group says that each child has a control group of its own. NoGroup says
	// why it has none.
	Group   bool
	NoGroup string
}

// String returns a line for a log, such as
// "landlock=7 seccomp=on rlimits=on cgroup=off".
func (r Report) String() string {
	word := func(on bool) string {
		if on {
			return "on"
		}
		return "off"
	}
	abi := "off"
	if r.Landlock > 0 {
		abi = strconv.Itoa(r.Landlock)
	}
	return fmt.Sprintf("landlock=%s seccomp=%s rlimits=%s cgroup=%s", abi, word(r.Seccomp), word(r.Limits), word(r.Group))
}

// Advice says which protection could be better on this machine, and how: one
// sentence each.
func (r Report) Advice() []string {
	if r.confines() && !r.Group {
		return []string{"ffmpeg has no control group of its own: " + r.NoGroup + ". Its other limits hold without one; with one the kernel also counts the memory that it uses for ffmpeg. With systemd, Delegate=memory pids and ProtectControlGroups=no in the unit make it possible."}
	}
	return nil
}

// confines reports whether children are put into the sandbox at all.
func (r Report) confines() bool { return r.Seccomp }

// Open finds out what this machine offers. With On it is all or an error that
// says what to do: a sandbox that silently lacks a layer is worse than none.
func Open(mode Mode, log *slog.Logger) (*Sandbox, error) {
	switch mode {
	case Off:
		log.Warn("The sandbox is off: a hostile video that finds a hole in ffmpeg can read and change everything that this server can.")
		return &Sandbox{}, nil
	case On:
		report, err := available()
		if err != nil {
			return nil, fmt.Errorf("the sandbox around ffmpeg cannot be built: %w", err)
		}
		s := &Sandbox{report: report}
		if s.groups, err = openGroups("/proc", "/sys"); err != nil {
			s.groups, s.report.NoGroup = nil, err.Error()
		}
		s.report.Group = s.groups != nil
		return s, nil
	}
	return nil, fmt.Errorf("sandbox mode %q is neither %q nor %q", mode, On, Off)
}

// Report returns what protects the children of this sandbox.
func (s *Sandbox) Report() Report { return s.report }

// Command describes a run of bin. Its environment is constant, and it leads a
// process group of its own, which is killed when ctx ends.
func (s *Sandbox) Command(ctx context.Context, p Policy, bin string, args ...string) *Child {
	return s.newChild(ctx, p, launch.Order{Policy: p}, bin, args...)
}

// newChild describes a run of bin, for which a helper carries out the order.
func (s *Sandbox) newChild(ctx context.Context, p Policy, o launch.Order, bin string, args ...string) *Child {
	c := &Child{policy: p, ended: make(chan struct{})}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	cmd := exec.CommandContext(c.ctx, bin, args...)
	cmd.Env = slices.Clone(launch.Environment)
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = pipeTimeout
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	c.Cmd = cmd
	if s.report.confines() && cmd.Err == nil {
		c.groups, c.confined = s.groups, true
		cmd.Err = confine(cmd, o)
	}
	return c
}
