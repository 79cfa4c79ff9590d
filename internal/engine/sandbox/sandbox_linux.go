package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

// oneAtATime keeps a helper, which does one thing after the other, from starting threads that it would have to
// confine as well. The program that it becomes has launch.Environment.
const oneAtATime = "GOMAXPROCS=1"

// confine turns a command into one that starts a helper, which then becomes the program.
func confine(cmd *exec.Cmd, o launch.Order) (err error) {
	if o.Program, err = inspect(cmd.Path); err != nil {
		return err
	}
	o.Server = os.Getpid()
	paths := slices.Concat([]string{o.Policy.WriteDir}, o.Policy.Read, o.Policy.Folders)
	for i, path := range paths {
		if path == "" {
			continue
		}
		// The caller may give the child another working directory.
		if paths[i], err = filepath.Abs(path); err != nil {
			return fmt.Errorf("find %s: %w", path, err)
		}
	}
	read := 1 + len(o.Policy.Read)
	o.Policy.WriteDir, o.Policy.Read, o.Policy.Folders = paths[0], paths[1:read], paths[read:]
	if cmd.Args, err = o.Args(cmd.Args); err != nil {
		return err
	}
	cmd.Path = "/proc/self/exe" // this very program, even when its file has been replaced
	cmd.Env = append(cmd.Env, oneAtATime)
	return nil
}

// available reports what this kernel offers, or why that is not enough.
func available() (Report, error) {
	abi, err := launch.Available()
	if err != nil {
		return Report{}, err
	}
	return Report{Landlock: abi, Seccomp: true, Limits: true}, nil
}

// Check looks from inside the sandbox, in which program would run, whether each layer is on. It must have
// returned before others use the sandbox: what it finds out about control groups is in the report.
func (s *Sandbox) Check(ctx context.Context, program string) error {
	if !s.report.confines() {
		return nil
	}
	err := s.check(ctx, program)
	if err != nil && s.groups != nil && s.groups.broken.Load() {
		s.groups, s.report.Group, s.report.NoGroup = nil, false, "a program could not be started in one"
		err = s.check(ctx, program)
	}
	if err != nil {
		return fmt.Errorf("the sandbox does not hold: %w", err)
	}
	return nil
}

func (s *Sandbox) check(ctx context.Context, program string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	p := Policy{Memory: 1 << 30, FileSize: 1 << 20, Threads: 100}
	child := s.newChild(ctx, p, launch.Order{Policy: p, Check: true}, program)
	var stderr bytes.Buffer
	child.Cmd.Stderr = &stderr
	if err := child.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}

// checkTime is for machines with other things to do: a check takes some milliseconds.
const checkTime = time.Minute

// ownGroup puts a child into a process group of its own, so that it can be
// killed with everything it started, and lets the kernel kill it when this
// process dies, however it dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
