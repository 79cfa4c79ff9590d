package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// idleCount returns how many files are open although nobody reads them.
func (s *Store) idleCount() int {
	s.raw.idle.mu.Lock()
	defer s.raw.idle.mu.Unlock()
	return s.raw.idle.count
}

// openFile opens an object, reads some of it and returns it with its file.
func openFile(t *testing.T, s *Store, key, begins string) (*object, *os.File) {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(begins))
	if _, err := io.ReadFull(o, got); err != nil || string(got) != begins {
		t.Fatalf("the object begins with %q, %v; want %q", got, err, begins)
	}
	return o.(*object), o.(*object).File
}

func put(t *testing.T, s *Store, key, text string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
}

func closeObject(t *testing.T, o *object) {
	t.Helper()
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileStaysOpenForTheNextReader(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	put(t, s, "a/film", "first film")
	one, first := openFile(t, s, "a/film", "first")
	two, second := openFile(t, s, "a/film", "fir") // beside the other, at its own position
	rest, err := io.ReadAll(one)
	if string(rest) != " film" || err != nil || first == second {
		t.Errorf("the rest is %q, %v", rest, err)
	}
	info := one.Info()
	closeObject(t, one)
	if err := one.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := one.Read(make([]byte, 1)); err == nil {
		t.Error("a closed object can be read")
	}
	again, file := openFile(t, s, "a/film", "first film")
	if file != first || again.Info() != info {
		t.Errorf("it was opened anew, as %v; want %v", again.Info(), info)
	}
	closeObject(t, again)
	closeObject(t, two)
	if n := s.idleCount(); n != 2 {
		t.Errorf("%d files are open, want 2", n)
	}
}

func TestAnIdleFileIsNotServedAfterItsName(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *Store) error{
		"deleted": func(t *testing.T, s *Store) error { return s.Delete(t.Context(), "a/film") },
		"removed": func(_ *testing.T, s *Store) error { return os.Remove(s.raw.pathOf("a/film")) },
		"moved":   func(_ *testing.T, s *Store) error { return os.Rename(s.raw.pathOf("a"), s.raw.pathOf("b")) },
		"linked": func(_ *testing.T, s *Store) error {
			return errors.Join(os.Rename(s.raw.pathOf("a/film"), s.raw.pathOf("a/other")), os.Symlink("/etc/passwd", s.raw.pathOf("a/film")))
		},
	} {
		s := openStore(t)
		put(t, s, "a/film", "first film")
		o, _ := openFile(t, s, "a/film", "first")
		closeObject(t, o)
		if err := change(t, s); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Open(t.Context(), "a/film"); err == nil || name != "linked" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it opens as %v, %v", name, o, err)
		}
		if n := s.idleCount(); n != 0 {
			t.Errorf("%s: %d files are open", name, n)
		}
	}
}

func TestAnIdleFileIsNotServedForItsSuccessor(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	put(t, s, "a/film", "first film")
	o, _ := openFile(t, s, "a/film", "first")
	late, _ := openFile(t, s, "a/film", "first")
	closeObject(t, o)
	put(t, s, "a/film", "other film")
	closeObject(t, late) // of the first version, although the second is there
	o, _ = openFile(t, s, "a/film", "other film")
	closeObject(t, o)
	if n := s.idleCount(); n != 1 {
		t.Errorf("%d files are open, want 1", n)
	}
}

func TestWritersCloseIdleFiles(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*testing.T, *Store) error{
		"Put": func(t *testing.T, s *Store) error {
			_, err := s.Put(t.Context(), "a/film", strings.NewReader("other film"))
			return err
		},
		"PutFile": func(t *testing.T, s *Store) error {
			file := filepath.Join(s.raw.dir, ".file")
			if err := os.WriteFile(file, []byte("other film"), 0o600); err != nil {
				return err
			}
			_, err := s.PutFile(t.Context(), "a/film", file)
			return err
		},
		"Copy": func(t *testing.T, s *Store) error {
			put(t, s, "a/other", "other film")
			_, err := s.Copy(t.Context(), "a/other", "a/film", "")
			return err
		},
	} {
		s := openStore(t)
		put(t, s, "a/film", "first film")
		o, _ := openFile(t, s, "a/film", "first")
		closeObject(t, o)
		if err := write(t, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := s.idleCount(); n != 0 {
			t.Errorf("%s: %d files are open", name, n)
		}
	}
}

// TestNobodyWaitsForAFileThatIsClosed holds up the closing of a file. That of a pipe waits for those who use it;
// that of a large deleted file waits for the disk.
func TestNobodyWaitsForAFileThatIsClosed(t *testing.T) {
	t.Parallel()
	for name, closeIt := range map[string]func(*idleFiles){
		"drop":  func(i *idleFiles) { i.drop("a") },
		"take":  func(i *idleFiles) { i.take("a", version{inode: 2}) },
		"sweep": func(i *idleFiles) { i.sweep() },
		"close": func(i *idleFiles) { i.close() },
	} {
		pipe, end, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		raw, err := pipe.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		used, release := make(chan bool), make(chan bool)
		all.Go(func() { _ = raw.Control(func(uintptr) { close(used); <-release }) })
		<-used
		files := &idleFiles{byKey: map[string][]idleFile{"a": {{file: pipe, version: version{inode: 1}}}}, count: 1}
		all.Go(func() { closeIt(files) })
		gone := make(chan bool)
		go func() {
			for files.has("a") {
				runtime.Gosched()
			}
			close(gone)
		}()
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Errorf("%s: a reader waits until the file is closed", name)
		}
		close(release)
		all.Wait()
	}
}

func TestAnObjectIsClosedOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	put(t, s, "a/film", "film")
	for range 50 {
		o, _ := openFile(t, s, "a/film", "film")
		var closed atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if o.Close() == nil {
					closed.Add(1)
				}
			})
		}
		all.Wait()
		if n := closed.Load(); n != 1 {
			t.Fatalf("it was closed %d times", n)
		}
	}
	if n := s.idleCount(); n > 1 {
		t.Errorf("%d files are open, want one", n)
	}
}

func TestFewFilesStayOpenForAShortTime(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	var all []*object
	for i := range maxIdle + 10 {
		key := fmt.Sprintf("a/%d", i%3)
		if i < 3 {
			put(t, s, key, "film")
		}
		o, _ := openFile(t, s, key, "film")
		all = append(all, o)
	}
	for _, o := range all {
		closeObject(t, o)
	}
	if n := s.idleCount(); n > maxIdle {
		t.Errorf("%d files are open", n)
	}
	for until := time.Now().Add(time.Minute); s.idleCount() > 0 && time.Now().Before(until); {
		time.Sleep(50 * time.Millisecond)
	}
	if n := s.idleCount(); n != 0 {
		t.Errorf("%d files are still open", n)
	}
}
