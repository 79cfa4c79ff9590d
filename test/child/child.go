// Package child starts the programs that tests need. None of them outlives the
// test binary, however that ends.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts a program that gets the signal when this process ends, and returns
// what is closed when the program has ended. How it did is in cmd.ProcessState.
func Start(cmd *exec.Cmd, death syscall.Signal) (exited <-chan struct{}, err error) {
	dieWithParent(cmd, death)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// The kernel takes the end of the thread that started a program for the
		// end of its parent. This one does nothing else as long as it runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // whoever cares looks at cmd.ProcessState
		}
	}()
	return ended, <-started
}
