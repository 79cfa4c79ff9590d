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

// TestEveryModuleIsKeptUpToDate wants Dependabot to look at each go.mod.
func TestEveryModuleIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, ".github/dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`package-ecosystem: gomod\n +directories: \[(.*)\]`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the directories of gomod are not where they were")
	}
	listed, found := strings.Split(string(m[1]), ", "), []string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == ".git" || name == ".cache" || name == "bin") {
			return fs.SkipDir
		}
		if d.Name() == "go.mod" {
			dir, err := filepath.Rel(root, filepath.Dir(path))
			found = append(found, filepath.Join("/", dir))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(listed)
	slices.Sort(found)
	if !slices.Equal(listed, found) {
		t.Errorf("dependabot.yml has %q; there are modules in %q", listed, found)
	}
}
