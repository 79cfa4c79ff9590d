package disk_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestFailedWritesLeaveNothing(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	writes := map[string]func(s blob.Store) error{
		"a reader that fails at once": func(s blob.Store) error {
			_, err := s.Put(t.Context(), "new/folder/key", iotest.ErrReader(broken))
			return err
		},
		"a reader that fails late": func(s blob.Store) error {
			r := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(broken))
			_, err := s.Put(t.Context(), "new/folder/key", r)
			return err
		},
		"a reader that panics": func(s blob.Store) (err error) {
			defer func() { err = recover().(error) }()
			_, err = s.Put(t.Context(), "new/folder/key", panics{broken})
			return err
		},
		"a cancelled context": func(s blob.Store) error {
			_, err := s.Put(cancelled, "new/folder/key", strings.NewReader("x"))
			return err
		},
		"a context that ends with the last byte": func(s blob.Store) error {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := s.Put(ctx, "new/folder/key", io.MultiReader(strings.NewReader("x"), cancels{cancel}))
			return err
		},
		"a copy of another version": func(s blob.Store) error {
			_, err := s.Copy(t.Context(), "old/key", "new/folder/key", "stale")
			return err
		},
		"a copy of nothing": func(s blob.Store) error {
			_, err := s.Copy(t.Context(), "none", "new/folder/key", "")
			return err
		},
		"a file that is not there": func(s blob.Store) error {
			_, err := s.PutFile(t.Context(), "new/folder/key", "/no/such/file")
			return err
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			put(t, s, "old/key", "x")
			if err := write(s); err == nil {
				t.Error("the write succeeded; want an error")
			}
			wantTree(t, dir, "old/", "old/key")
		})
	}
}

// A rename between two names of one file does nothing, and leaves both.
func TestRepeatedCopiesLeaveNoTemporaryFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "from", "x")
	for _, to := range []string{"a/to", "a/to", "from"} {
		if _, err := s.Copy(t.Context(), "from", to, ""); err != nil {
			t.Fatalf("Copy to %q = %v", to, err)
		}
	}
	wantTree(t, dir, "a/", "a/to", "from")
}

// cancels is an empty reader that ends a context.
type cancels struct{ cancel func() }

func (c cancels) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.EOF
}

type panics struct{ err error }

func (p panics) Read([]byte) (int, error) { panic(p.err) }

func TestDeleteLeavesNoEmptyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for _, key := range []string{"a/b/c/1", "a/b/c/2", "a/3", "d/4"} {
		put(t, s, key, "x")
	}
	for _, step := range []struct {
		keys, want []string
	}{
		{[]string{"a/b/c/1"}, []string{"a/", "a/3", "a/b/", "a/b/c/", "a/b/c/2", "d/", "d/4"}},
		{[]string{"a/b/c/2"}, []string{"a/", "a/3", "d/", "d/4"}},
		{[]string{"a/3", "d/4", "e/5"}, nil},
	} {
		if err := s.Delete(t.Context(), step.keys...); err != nil {
			t.Fatalf("Delete(%q) = %v", step.keys, err)
		}
		wantTree(t, dir, step.want...)
	}
}

// This test does not run in parallel: a new child holds all open files of this
// process until its exec, and other tests look at what is open.
func TestCleanTempRemovesWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	crashInMidPut(t, dir)
	if got := tree(t, dir); len(got) != 4 || !strings.HasPrefix(got[2], "video/new/.") {
		t.Fatalf("after the crash the folder holds %q; want the old object and a temporary file", got)
	}

	s := open(t, dir)
	wantObject(t, s, "video/old", "whole")
	for info, err := range s.List(t.Context(), "video/n") {
		t.Errorf("List yields %+v, %v; want nothing of the write that died", info, err)
	}
	if n, err := s.CleanTemp(t.Context()); n != 1 || err != nil {
		t.Errorf("CleanTemp = %d, %v; want 1 file removed", n, err)
	}
	wantTree(t, dir, "video/", "video/old")
	if n, err := s.CleanTemp(t.Context()); n != 0 || err != nil {
		t.Errorf("a second CleanTemp = %d, %v; want nothing to do", n, err)
	}
}

func TestCleanTempSparesWritesOfItsOwnStore(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	r := io.MultiReader(strings.NewReader("first half, "), cleaning{t, s.CleanTemp}, strings.NewReader("second half"))
	if _, err := s.Put(t.Context(), "new/folder/key", r); err != nil {
		t.Fatalf("Put = %v", err)
	}
	wantObject(t, s, "new/folder/key", "first half, second half")
}

// cleaning is an empty reader that calls clean.
type cleaning struct {
	t     *testing.T
	clean func(context.Context) (int, error)
}

func (c cleaning) Read([]byte) (int, error) {
	if n, err := c.clean(c.t.Context()); n != 0 || err != nil {
		c.t.Errorf("CleanTemp = %d, %v; want nothing to do", n, err)
	}
	return 0, io.EOF
}

// crashEnv names the folder in which this test binary is to write until it is
// killed.
const crashEnv = "SPOOL_TEST_CRASH_DIR"

// crashInMidPut has another process write to the store in dir, and kills it in
// the middle of its second object.
func crashInMidPut(t *testing.T, dir string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWriteUntilKilled$")
	child.Env = append(os.Environ(), crashEnv+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the child did not come to its second object: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // "signal: killed"
}

// TestWriteUntilKilled is the process that crashInMidPut kills.
func TestWriteUntilKilled(t *testing.T) {
	dir := os.Getenv(crashEnv)
	if dir == "" {
		t.Skip("runs only as the child of another test")
	}
	s := open(t, filepath.Clean(dir))
	put(t, s, "video/old", "whole")
	forever, _ := io.Pipe()
	r := io.MultiReader(strings.NewReader(strings.Repeat("half", 1<<18)), announces{}, forever)
	_, err := s.Put(t.Context(), "video/new/key", r)
	t.Errorf("Put ended with %v", err)
}

// announces is an empty reader that says that it has been reached.
type announces struct{}

func (announces) Read([]byte) (int, error) {
	if _, err := os.Stdout.WriteString("in the middle\n"); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
