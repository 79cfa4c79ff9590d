package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOneProcessUsesADataDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir)
	want := fmt.Sprintf("another spool (pid %d) is using %s; stop it or choose another --data-dir", os.Getpid(), dir)
	if err == nil || err.Error() != want {
		t.Fatalf("a second lock gives %v, want %q", err, want)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	lockReleased(t, dir).Unlock()
}

// lockReleased takes a lock that nobody holds any more. A child that another test starts at this
// moment has the file open too, until it becomes another program.
func lockReleased(t *testing.T, dir string) *Locked {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		lock, err := Lock(dir)
		if err == nil {
			return lock
		}
		if time.Now().After(deadline) {
			t.Fatalf("the lock was released, but the next one gets %v", err)
		}
	}
}

// TestALockEndsWithItsProcess takes a lock in another process, kills that, and
// must get the lock.
func TestALockEndsWithItsProcess(t *testing.T) {
	if dir := os.Getenv("SPOOL_TEST_LOCK"); dir != "" {
		if _, err := Lock(dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("locked")
		time.Sleep(time.Hour) // an endless select looks like a deadlock, which ends the process
	}
	t.Parallel()
	dir := t.TempDir()
	other := exec.Command(os.Args[0], "-test.run=^TestALockEndsWithItsProcess$")
	other.Env = append(os.Environ(), "SPOOL_TEST_LOCK="+dir)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	var word string
	fmt.Fscan(out, &word)

	_, err = Lock(dir)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", other.Process.Pid)) {
		t.Errorf("while the other process lives, the lock gives %v; want its pid named", err)
	}
	other.Process.Kill()
	other.Wait()
	lockReleased(t, dir).Unlock()
}

func TestADataDirectoryOfSomebodyElse(t *testing.T) {
	t.Parallel()
	err := Unwritable("/srv/films", &fs.PathError{Op: "mkdir", Path: "/srv/films", Err: syscall.EACCES})
	if want := "/srv/films cannot be written; it belongs to "; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "choose another --data-dir: ") {
		t.Errorf("%q, want it to begin with %q", err, want)
	}
}

func TestAFolderThatCanOnlyBeRead(t *testing.T) {
	t.Parallel()
	err := Unwritable("/data", &fs.PathError{Op: "open", Path: "/data/spool.lock", Err: syscall.EROFS})
	if strings.Contains(err.Error(), "belongs to") || !strings.Contains(err.Error(), "can only be read") {
		t.Errorf("it says %q; want that the folder can only be read", err)
	}
}
