// Command run runs the checks and the tests of this repository side by side, so
// that tests which wait for a dead process share the machine with tests which
// wait for ffmpeg. make test calls it.
//
// It prints one line for each package when it has ended. What a failed test
// printed comes last, after the list of the tests that were skipped and why.
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spool-video/spool/test/need"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: run lint|quick|race|test|long")
		os.Exit(2)
	}
	ok, err := run(ctx, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run does what a target of the Makefile is for, and reports whether all is well.
func run(ctx context.Context, target string) (ok bool, err error) {
	shared, remove, err := shareFolder()
	if err != nil {
		return false, err
	}
	defer remove()
	if err := setFlags(ctx, shared); err != nil {
		return false, err
	}
	packages, err := listPackages(ctx)
	if err != nil {
		return false, err
	}
	lanes, err := plan(target, packages)
	if err != nil {
		return false, err
	}
	began, r := time.Now(), newReport(os.Stdout)
	runAll(ctx, lanes, r)
	r.retry(ctx)
	return r.finish(time.Since(began)), nil
}

// collectLess has the compiler and the linker collect no garbage before they have a GiB of it: a quarter of the CPU time
// of compiling SQLite would be spent on that. Only they may know: tests measure their own memory. go vet
// would look into the functions of all libraries for what it needs to know about those who call them, which is
// half of its time. It may do so where we are the ones who call.
const collectLess = `#!/bin/sh
case $1:$TOOLEXEC_IMPORTPATH in */vet:` + module + `*%s) ;; */vet:*.*/*) exit ;; esac
GOGC=off GOMEMLIMIT=1GiB exec "$@"
`

// toolScript returns collectLess for a module whose packages import these.
func toolScript(imports []string) string {
	called := ""
	for _, path := range imports {
		if !strings.HasPrefix(path, "modernc.org/") { // nobody but database/sql calls SQLite
			called += "|*/vet:" + path
		}
	}
	return fmt.Sprintf(collectLess, called)
}

// withoutDebugging saves a tenth of the compilation. What debuggers need is not linked anyway.
const withoutDebugging = "-gcflags=all=-dwarf=false"

// setFlags has everything compiled as make build does, so that the cache holds it once: what the
// tests compile, what the checks read, and the program that tests build themselves.
func setFlags(ctx context.Context, shared string) error {
	flags, err := command(ctx, []string{"env", "GOFLAGS"}, nil).Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	const format = `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}`
	imports, err := command(ctx, []string{"list", "-f", format, "./..."}, nil).Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	paths := strings.Fields(string(imports))
	slices.Sort(paths)
	tool := filepath.Join(shared, "collect-less")
	if err := os.WriteFile(tool, []byte(toolScript(slices.Compact(paths))), 0o700); err != nil {
		return err
	}
	return os.Setenv("GOFLAGS", strings.TrimSpace(string(flags))+" -trimpath "+withoutDebugging+" -toolexec="+tool)
}

// shareFolder makes the folder in which the test binaries of this run share what is made once. Its
// name is the same in each run, unless another one uses it: Go's cache of test results would take
// another name for another test.
func shareFolder() (dir string, remove func(), err error) {
	dir, err = os.Getwd()
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(os.TempDir(), fmt.Sprintf("spool-run-%08x", crc32.ChecksumIEEE([]byte(dir))))
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		err = errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
	} else {
		dir, err = os.MkdirTemp("", "spool-run-")
	}
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _, _ = os.RemoveAll(dir), lock.Close() }, os.Setenv(need.SharedVariable, dir)
}

// runAll runs the lanes side by side, with those that begin on the way.
func runAll(ctx context.Context, lanes []lane, r *report) {
	var all sync.WaitGroup
	var begin func(lane)
	begin = func(l lane) {
		all.Go(func() {
			for _, j := range l {
				j.run(ctx, r)
				begin(j.then)
			}
		})
	}
	for _, l := range lanes {
		begin(l)
	}
	all.Wait()
}

// module is the path that package names are printed without.
const module = "github.com/spool-video/spool/"

// short returns the name of a package below the module.
func short(pkg string) string { return strings.TrimPrefix(pkg, module) }

// listPackages returns every package of the module that has tests.
func listPackages(ctx context.Context) ([]string, error) {
	const format = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}`
	out, err := command(ctx, []string{"list", "-f", format, "./..."}, nil).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// among returns a function that reports whether a package is one of these.
func among(names ...string) func(string) bool {
	return func(pkg string) bool { return slices.Contains(names, short(pkg)) }
}

// below returns a function that reports whether a package is one of these or lies
// below one of them.
func below(names ...string) func(string) bool {
	return func(pkg string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return short(pkg) == n || strings.HasPrefix(short(pkg), n+"/")
		})
	}
}
