package s3test

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end the program when a test is killed, which then
// cannot do it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
