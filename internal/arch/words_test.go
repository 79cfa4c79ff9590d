package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// accents are phrases that a plain sentence does without, with how many of each there may be outside tests. A
// number may only be lowered.
var accents = []struct {
	phrase  string
	maximum int
}{
	{"that of", 6},
	{"those of", 7},
	{"nobody", 6},
	{"whoever", 1},
	{"there is none", 7},
}

func TestAccentsOnlyBecomeFewer(t *testing.T) {
	t.Parallel()
	texts := proseFiles(t)
	for _, a := range accents {
		if n := len(phrasePattern(a.phrase).FindAllString(texts, -1)); n > a.maximum {
			t.Errorf("%q occurs %d times, more than %d: say it in plain words", a.phrase, n, a.maximum)
		}
	}
}

// phrasePattern matches a phrase in any case. A line break with the mark of a comment may lie between its words.
func phrasePattern(phrase string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.Join(strings.Fields(phrase), `[\s/#*]+`) + `\b`)
}

// proseFiles returns the text of all files that people read: Go, pages, web files and settings, without tests and
// the files of others.
func proseFiles(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && isLeftOut(path, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !isProse(d.Name()) {
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		all.WriteByte('\n')
		return err
	})
	if err != nil || all.Len() < 1<<20 {
		t.Fatalf("%d bytes were read: %v", all.Len(), err)
	}
	return all.String()
}

// isLeftOut reports whether a folder holds tests, what was built, or files of others.
func isLeftOut(path, name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test") || filepath.Clean(path) == filepath.Join(root, "internal/web/api/docs") ||
		slices.Contains([]string{"arch", "bin", "data", "node_modules", "testdata", "thirdparty"}, name)
}

// isProse reports whether a file of this name is counted.
func isProse(name string) bool {
	if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".test.js") || strings.HasSuffix(name, ".test.ts") {
		return false
	}
	return slices.Contains([]string{".go", ".md", ".html", ".js", ".ts", ".css", ".toml", ".txt", ".sh", ".yaml", ".sql"}, filepath.Ext(name))
}

func TestPhrasesAreFoundAcrossLines(t *testing.T) {
	t.Parallel()
	text := "// rejection returns That\n\t// of the key; a hat of felt and that offer are none\n"
	if found := phrasePattern("that of").FindAllString(text, -1); len(found) != 1 {
		t.Errorf("found %q; want the one over two lines", found)
	}
}
