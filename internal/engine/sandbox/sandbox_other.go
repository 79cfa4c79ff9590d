//go:build unix && !linux

package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"syscall"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

func available() (Report, error) {
	return Report{}, errors.New("it is made of parts of the Linux kernel; run the server on Linux, or start it with --sandbox=off")
}

func confine(*exec.Cmd, launch.Order) error { return errors.ErrUnsupported }

// ownGroup puts a child into a process group of its own. Only Linux can also kill
// it when this process dies.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Check has nothing to look at on this system.
func (s *Sandbox) Check(context.Context, string) error { return nil }
