package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSequentialPackagesAreThat wants the packages that run without the race detector because they
// start no goroutine to start none.
func TestSequentialPackagesAreThat(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	names := 0
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || !d.IsDir() || !sequential(module+filepath.ToSlash(name)) {
			return err
		}
		names++
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		for _, file := range files {
			if what := concurrencyOf(t, file); what != "" {
				t.Errorf("%s has %s: %s needs the race detector", file, what, name)
			}
		}
		return err
	})
	if err != nil || names != 6 {
		t.Errorf("%d packages were found, want 6: %v", names, err)
	}
}

// concurrencyOf returns what a file has that needs the race detector.
func concurrencyOf(t *testing.T, path string) (what string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		if name := strings.Trim(i.Path.Value, `"`); name == "sync" || name == "sync/atomic" {
			what = name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, begins := n.(*ast.GoStmt); begins {
			what = "a goroutine"
		}
		return true
	})
	return what
}
