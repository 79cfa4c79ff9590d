package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxSecurityWords keeps SECURITY.md a page that people read.
const maxSecurityWords = 900

var (
	testNamed    = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	testDeclared = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\)`)
)

// Each promise of SECURITY.md names a test that proves it, so that none outlives what keeps it.
func TestEachPromiseOfSecurityHasATest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > maxSecurityWords {
		t.Errorf("SECURITY.md has %d words, more than %d", n, maxSecurityWords)
	}
	declared := declaredTests(t)
	for _, m := range testNamed.FindAllStringSubmatch(string(text), -1) {
		if !declared[m[1]] {
			t.Errorf("SECURITY.md names %s, which does not exist", m[1])
		}
	}
	_, promises, _ := strings.Cut(string(text), "\n## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## What is not promised\n")
	rows := 0
	for line := range strings.Lines(promises) {
		if strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, "| proved by |\n") {
			if rows++; !testNamed.MatchString(line) {
				t.Errorf("SECURITY.md promises this without a test: %s", line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("SECURITY.md has %d promises between its headings", rows)
	}
}

// declaredTests returns the names of all tests.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(d.Name(), "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testDeclared.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
