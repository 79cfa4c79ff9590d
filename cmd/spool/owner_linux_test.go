package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody calls f on a thread of a user who owns nothing. Whoever is not root is one already.
func asNobody(t *testing.T, f func()) {
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

func TestADatabaseOfSomebodyElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), databaseFile)
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("unable to open database file (14)")
	if os.Geteuid() == 0 {
		if err := forbidden(path, cause); err != cause {
			t.Errorf("root gets %v; it may read everything", err)
		}
	}
	var err error
	var me string
	asNobody(t, func() { err, me = forbidden(path, cause), userName(os.Geteuid()) })
	owner := userName(os.Geteuid())
	if want := " belongs to " + owner + ", and " + me + " may not read and write it: run spool as " + owner; !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %q; want %q", err, want)
	}
}
