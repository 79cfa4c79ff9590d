package child

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// AsNobody calls f on a thread of a user who owns nothing, unless the tests run as such a user anyway.
func AsNobody(t testing.TB, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread() // the raw call changes this thread alone
	defer runtime.UnlockOSThread()
	become := func(id uintptr) {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, id, id, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	become(nobody)
	defer become(0)
	f()
}
