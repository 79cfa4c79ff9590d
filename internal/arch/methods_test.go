package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// methodLimits says how many exported methods one type may have, by folder. A
// type with more serves several callers with different reasons to change.
var methodLimits = []struct {
	dir   string // below the module's root, with everything below it
	limit int
}{
	{"internal/service", 15},
	{"internal/backend/store", 36}, // Tx: one method for each statement
	{"internal", 25},
}

// crowded returns a sentence for each type of a package with more exported
// methods than the limit. Methods promoted from embedded types of the same
// package count too.
func crowded(dir string, files []*ast.File, limit int) []string {
	own := map[string]map[string]bool{}
	embedded := map[string][]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.IsExported() {
					t := typeName(d.Recv.List[0].Type)
					if own[t] == nil {
						own[t] = map[string]bool{}
					}
					own[t][d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						embedded[t.Name.Name] = embeddedTypes(t)
					}
				}
			}
		}
	}
	var found []string
	for t := range embedded {
		all := map[string]bool{}
		promote(t, own, embedded, all)
		if len(all) > limit {
			found = append(found, fmt.Sprintf("%s: type %s has %d exported methods, more than %d: split it by who calls them", dir, t, len(all), limit))
		}
	}
	return found
}

// promote adds to all the exported methods of a type and of what it embeds.
func promote(t string, own map[string]map[string]bool, embedded map[string][]string, all map[string]bool) {
	for m := range own[t] {
		all[m] = true
	}
	for _, e := range embedded[t] {
		promote(e, own, embedded, all)
	}
}

// embeddedTypes returns the types of the same package that a struct embeds.
func embeddedTypes(t *ast.TypeSpec) []string {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	var names []string
	for _, f := range s.Fields.List {
		if n := typeName(f.Type); len(f.Names) == 0 && n != "" && n != t.Name.Name {
			names = append(names, n)
		}
	}
	return names
}

// typeName returns the name of a type of the same package, also behind a
// pointer or with type parameters, or "".
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}

func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	packages := 0
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || strings.HasSuffix(d.Name(), "test") { // rigs and suites are only for tests
			return err
		}
		files, err := parsePackage(dir)
		if err != nil || len(files) == 0 {
			return err
		}
		packages++
		name := filepath.ToSlash(strings.TrimPrefix(dir, root+string(filepath.Separator)))
		for _, sentence := range crowded(name, files, methodLimit(name)) {
			t.Error(sentence)
		}
		return nil
	})
	if err != nil || packages < 20 {
		t.Fatalf("looked at %d packages: %v", packages, err)
	}
}

func methodLimit(dir string) int {
	for _, l := range methodLimits {
		if dir == l.dir || strings.HasPrefix(dir, l.dir+"/") {
			return l.limit
		}
	}
	return methodLimits[len(methodLimits)-1].limit
}

// parsePackage parses the Go files of a folder without its tests.
func parsePackage(dir string) ([]*ast.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func TestCrowdedCountsPromotedMethods(t *testing.T) {
	t.Parallel()
	source := "package p\ntype reads struct{}\nfunc (reads) A() {}\nfunc (reads) B() {}\nfunc (reads) c() {}\n" +
		"type T struct { reads; other.X }\nfunc (*T) A() {}\nfunc (*T) D() {}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := crowded("p", []*ast.File{f}, 3); len(found) != 0 {
		t.Errorf("with a limit of 3: %q, want nothing", found)
	}
	found := crowded("p", []*ast.File{f}, 2)
	if len(found) != 1 || !strings.Contains(found[0], "type T has 3 exported methods") {
		t.Errorf("with a limit of 2: %q, want T with 3", found)
	}
}
