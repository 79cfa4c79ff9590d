// Package rig is what the tests of the built program share: the program itself,
// what it writes, clips that are made once, numbers from the environment, and
// disks that are full.
package rig

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// Run builds the program, with these flags, and runs the tests of a package two
// folders below the module's. Before the first one it calls prepare with the
// program and a folder for all of them, which is removed at the end. After the
// last one it calls what prepare returned, unless that is nil.
func Run(m *testing.M, prepare func(dir, binary string) (finish func()), flags ...string) int {
	dir, err := os.MkdirTemp("", "spool-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the tests:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, err := build(dir, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	finish := prepare(dir, binary)
	return pgtest.Run(runner{m, finish})
}

// Build builds the program as people build it.
func Build(t testing.TB) string {
	t.Helper()
	binary, err := build(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// build builds the program with these flags.
func build(dir string, flags []string) (binary string, err error) {
	binary = filepath.Join(dir, "spool")
	if err := readSources(); err != nil {
		return "", err
	}
	cmd := exec.Command("go", append(append([]string{"build", "-ldflags=-s -w", "-o", binary}, flags...), "./cmd/spool")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build spool: %w\n%s", err, out)
	}
	return binary, nil
}

// root is the folder of the module, seen from a package that calls Run or Build.
var root = filepath.Join("..", "..")

// readSources reads the folders that the program is built from. The go command sees which folders a test reads,
// and takes no earlier result of the test when one of them has changed.
func readSources() error {
	for _, dir := range []string{"cmd", "client", "internal"} {
		if err := filepath.WalkDir(filepath.Join(root, dir), func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return err
		}
	}
	return nil
}

// runner runs the tests and finishes while the shared database still runs.
type runner struct {
	tests  *testing.M
	finish func()
}

func (r runner) Run() int {
	if r.finish != nil {
		defer r.finish()
	}
	return r.tests.Run()
}

// ClipCache makes each thing once, for the first test that asks for it.
// Its zero value is empty.
type ClipCache struct {
	mu    sync.Mutex
	makes map[string]func() error
}

// Once calls makeIt unless it was called for the name before, and returns what
// it returned. Others can be made meanwhile.
func (s *ClipCache) Once(name string, makeIt func() error) error {
	s.mu.Lock()
	if s.makes == nil {
		s.makes = map[string]func() error{}
	}
	if s.makes[name] == nil {
		s.makes[name] = sync.OnceValue(makeIt)
	}
	made := s.makes[name]
	s.mu.Unlock()
	return made()
}

// Setting reads a number from the environment.
func Setting(t testing.TB, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
