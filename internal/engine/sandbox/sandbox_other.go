//go:build unix && !linux

package sandbox

import (
	"context"
	"errors"
	"syscall"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

func available() (Report, error) {
	return Report{}, errors.New("it is made of parts of the Linux kernel; run the server on Linux, or start it with --sandbox=off")
}

func (c *Child) confine(launch.Order, *threadShare) error { return errors.ErrUnsupported }

func maxProcesses(string, string) int { return 0 }

// ownGroup puts a child into a process group of its own. Only Linux can also kill
// it when this process dies.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// EnterIfAsked does nothing: there is no sandbox on this system.
func EnterIfAsked() {}

// SelfTest has nothing to test on this system.
func (s *Sandbox) SelfTest(context.Context, string, string) error { return nil }
