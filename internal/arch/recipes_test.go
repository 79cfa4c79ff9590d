package arch

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// codeSpan is a word of code in a text.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// filesNamed returns the files and folders that a text names in code.
func filesNamed(text string) []string {
	var all []string
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		if name := span[1]; !strings.Contains(name, " ") && (strings.Contains(name, "/") || strings.HasSuffix(name, ".go")) {
			all = append(all, name)
		}
	}
	return all
}

// A recipe that names what was moved or renamed sends its reader nowhere.
func TestTheFilesOfTheRecipesExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, recipes, found := strings.Cut(string(text), "## Recipes\n")
	recipes, _, _ = strings.Cut(recipes, "\n## ")
	files := filesNamed(recipes)
	if !found || len(files) < 15 {
		t.Fatalf("CONTRIBUTING.md names %d files in its recipes", len(files))
	}
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(root, name)); errors.Is(err, os.ErrNotExist) {
			t.Errorf("a recipe in CONTRIBUTING.md names %s, which does not exist: name files by their whole path", name)
		}
	}
}

func TestFilesNamedReadsCode(t *testing.T) {
	t.Parallel()
	text := "see `a/b.go` and `c.go`, in `groups`, with `go test ./a/b`; a/d is no code"
	if got := filesNamed(text); !slices.Equal(got, []string{"a/b.go", "c.go"}) {
		t.Errorf("filesNamed = %q", got)
	}
}
