package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

// trial is what the self-test does inside the sandbox: try to break out, or to
// take too much.
type trial struct {
	Attack *target `json:",omitempty"`
	Flood  *int    `json:",omitempty"` // index in floods
}

// oneAtATime keeps a helper, which does one thing after the other, from starting threads that it would have to
// confine as well. The program that it becomes has launch.Environment.
const oneAtATime = "GOMAXPROCS=1"

// EnterIfAsked has to be the first call in main. It returns at once, unless this
// process is a trial of the self-test: then it never returns.
func EnterIfAsked() {
	if !launch.Asked() {
		return
	}
	runtime.LockOSThread() // that of the start, which is confined
	var t trial
	order, policy, err := launch.Trial()
	if err == nil {
		err = json.Unmarshal(order, &t)
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "sandbox: read the trial: %v\n", err)
		os.Exit(ExitRefused)
	case t.Attack != nil:
		attackAll(*t.Attack, os.Stdout)
	case t.Flood != nil:
		floodFor(*t.Flood, policy.WriteDir)
	}
	os.Exit(0)
}

// confineTrial does the same with a trial in the place of the program.
func (c *Child) confineTrial(p Policy, t trial, share *threadShare) error {
	encoded, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode the trial: %w", err)
	}
	return c.confine(launch.Order{Policy: p, Trial: encoded}, share)
}

// confine turns the command of a program into that of a helper which becomes the
// program, and has its threads counted.
func (c *Child) confine(o launch.Order, share *threadShare) error {
	if o.Ask = o.Policy.Threads > 0; o.Ask {
		c.threads = newThreadGuard(o.Policy.Threads, share)
	}
	return confine(c.Cmd, o)
}

func confine(cmd *exec.Cmd, o launch.Order) (err error) {
	if o.Program, err = inspect(cmd.Path); err != nil {
		return err
	}
	o.Server = os.Getpid()
	paths := append([]string{o.Policy.WriteDir}, o.Policy.Read...)
	for i, path := range paths {
		if path == "" {
			continue
		}
		// The caller may give the child another working directory.
		if paths[i], err = filepath.Abs(path); err != nil {
			return fmt.Errorf("find %s: %w", path, err)
		}
	}
	o.Policy.WriteDir, o.Policy.Read = paths[0], paths[1:]
	if cmd.Args, err = o.Args(cmd.Args); err != nil {
		return err
	}
	cmd.Path = "/proc/self/exe" // this very program, even when its file has been replaced
	if o.Trial == nil {
		cmd.Env = append(cmd.Env, oneAtATime)
	}
	return nil
}

// available reports what this kernel offers, or why that is not enough.
func available() (Report, error) {
	if launch.Asked() {
		// Otherwise each helper would be one more server that starts helpers.
		return Report{}, errors.New("the main function does not call EnterIfAsked first")
	}
	abi, err := launch.Available()
	if err != nil {
		return Report{}, err
	}
	return Report{Landlock: abi, Seccomp: true, Limits: true, Threads: true}, nil
}

// ownGroup puts a child into a process group of its own, so that it can be
// killed with everything it started, and lets the kernel kill it when this
// process dies, however it dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
