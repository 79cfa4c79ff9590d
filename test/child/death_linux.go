package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end the program when the tests are killed, since
// they cannot do it then.
func dieWithParent(cmd *exec.Cmd, death syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = death
}
