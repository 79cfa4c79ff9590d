//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing where the kernel cannot.
func dieWithParent(*exec.Cmd, syscall.Signal) {}
