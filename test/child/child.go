// Package child starts the programs that tests need. They never outlive the test
// binary, however it ends. It also runs code as a user without rights.
package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
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
			_ = cmd.Wait() // the caller reads cmd.ProcessState
		}
	}()
	return ended, <-started
}

// Script makes a shell script that stands in for a program which cannot be made to
// misbehave, and returns its path.
func Script(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	WriteProgram(t, path, []byte("#!/bin/sh\n"+body))
	return path
}

// WriteProgram writes a program that can be started at once. The system refuses
// that while anybody has the file open for writing, and a program that another test
// starts meanwhile would have it open for a moment, if none were kept from starting.
func WriteProgram(t testing.TB, path string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
}
