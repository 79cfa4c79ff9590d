package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastLandlock is the first version that can keep a file from being truncated
// (Linux 6.2). Newer versions are used as far as they are available.
const leastLandlock = 3

// helperArgument as the first argument makes the server's program the helper.
const helperArgument = "sandbox-exec"

// order is what the server tells the helper, as JSON in its second argument;
// the program's own arguments follow.
type order struct {
	Server  int // process ID
	Policy  Policy
	Ask     bool // the server, for each new thread
	Program program
	// Instead of running the program, try to break out, or to take too much.
	Attack *target `json:",omitempty"`
	Flood  *int    `json:",omitempty"` // index in floods
}

// confine turns the command of a program into that of a helper which becomes the
// program, and has its threads counted.
func (c *Child) confine(o order, share *threadShare) error {
	if o.Ask = o.Policy.Threads > 0; o.Ask {
		c.threads = newThreadGuard(o.Policy.Threads, share)
	}
	return confine(c.Cmd, o)
}

func confine(cmd *exec.Cmd, o order) (err error) {
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
	encoded, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode the order for the sandbox: %w", err)
	}
	cmd.Args = append([]string{"spool-sandbox", helperArgument, string(encoded)}, cmd.Args...)
	cmd.Path = "/proc/self/exe" // this very program, even when its file has been replaced
	return nil
}

// available reports what this kernel offers, or why that is not enough.
func available() (Report, error) {
	if isHelperProcess() {
		// Otherwise each helper would be one more server that starts helpers.
		return Report{}, errors.New("the main function does not call EnterIfAsked first")
	}
	abi, err := llsys.LandlockGetABIVersion()
	if err := judgeLandlock(abi, err); err != nil {
		return Report{}, err
	}
	if err := judgeSeccomp(); err != nil {
		return Report{}, err
	}
	return Report{Landlock: abi, Seccomp: true, Limits: true, Threads: true}, nil
}

const wayOut = "use a newer kernel, or start with --sandbox=off to run ffmpeg without protection"

// judgeLandlock explains why Landlock cannot be used. The library would silently
// go on without it.
func judgeLandlock(abi int, err error) error {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the kernel knows Landlock, but it is switched off: boot with \"landlock\" in the kernel's lsm= option, or start with --sandbox=off to run ffmpeg without protection")
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return fmt.Errorf("there is no Landlock here (%w): Linux is older than 6.2 or built without it, or the container forbids it; %s", err, wayOut)
	case err != nil:
		return fmt.Errorf("ask the kernel for Landlock: %w; %s", err, wayOut)
	case abi < leastLandlock:
		return fmt.Errorf("the kernel has version %d of Landlock, and version %d (Linux 6.2) is needed; %s", abi, leastLandlock, wayOut)
	}
	return nil
}

// ownGroup puts a child into a process group of its own, so that it can be
// killed with everything it started, and lets the kernel kill it when this
// process dies, however it dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
