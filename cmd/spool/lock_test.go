package main

import (
	"fmt"
	"io/fs"
	"net"
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
	first, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockDir(dir)
	want := fmt.Sprintf("another spool (pid %d) is using %s; stop it or choose another --data-dir", os.Getpid(), dir)
	if err == nil || err.Error() != want {
		t.Fatalf("a second lock gives %v, want %q", err, want)
	}
	if err := first.unlock(); err != nil {
		t.Fatal(err)
	}
	lockReleased(t, dir).unlock()
}

// lockReleased takes a lock that nobody holds any more. A child that another test starts at this
// moment has the file open too, until it becomes another program.
func lockReleased(t *testing.T, dir string) *dirLock {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		lock, err := lockDir(dir)
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
		if _, err := lockDir(dir); err != nil {
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

	_, err = lockDir(dir)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", other.Process.Pid)) {
		t.Errorf("while the other process lives, the lock gives %v; want its pid named", err)
	}
	other.Process.Kill()
	other.Wait()
	lockReleased(t, dir).unlock()
}

func TestServeRefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.unlock()
	p, _, stderr := newProcess(nil, nil)
	code := p.run(t.Context(), []string{"serve", "--listen=127.0.0.1:0", "--data-dir", dir})
	if code != exitError || !strings.HasPrefix(stderr.String(), "spool: another spool (pid ") {
		t.Errorf("serve exits with %d and says %q; want %d and who is there", code, stderr, exitError)
	}
}

// TestServeMakesTheDataDirectoryAbsolute is not parallel: it changes the
// working directory. Children run elsewhere, so a relative path must not last.
func TestServeMakesTheDataDirectoryAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	lock, err := lockDir("data")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.unlock()
	abs, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	p, _, stderr := newProcess(nil, nil)
	p.run(t.Context(), []string{"serve", "--listen=127.0.0.1:0"})
	if !strings.Contains(stderr.String(), "is using "+abs+";") {
		t.Errorf("serve works in %q, want %s", stderr, abs)
	}
}

func TestServeSaysWhatToDoAboutItsAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{
		taken.Addr().String(): "another program listens on " + taken.Addr().String() + " already; stop it or choose another --listen",
		"203.0.113.1:8080":    "203.0.113.1:8080 is not an address of this machine; choose another --listen",
		"nowhere.invalid:80":  "listen on nowhere.invalid:80: ",
	} {
		p, _, stderr := newProcess(nil, nil)
		code := p.run(t.Context(), []string{"serve", "--listen", address, "--data-dir", t.TempDir()})
		if got := stderr.String(); code != exitError || !strings.HasPrefix(got, "spool: "+want) {
			t.Errorf("serve on %s exits with %d and says %q; want %q", address, code, got, want)
		}
	}
}

func TestADataDirectoryOfSomebodyElse(t *testing.T) {
	t.Parallel()
	err := unwritable("/srv/films", &fs.PathError{Op: "mkdir", Path: "/srv/films", Err: syscall.EACCES})
	if want := "/srv/films cannot be written; it belongs to "; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "choose another --data-dir: ") {
		t.Errorf("%q, want it to begin with %q", err, want)
	}
}
