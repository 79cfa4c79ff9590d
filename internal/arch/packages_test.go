package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tableRow is a row of CONTRIBUTING's table of packages. A row may name several.
var tableRow = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")

// listed returns the packages that a table names in its first column.
func listed(text string) []string {
	var all []string
	for _, row := range tableRow.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(row[1], ",") {
			all = append(all, strings.Trim(strings.TrimSpace(name), "`"))
		}
	}
	slices.Sort(all)
	return all
}

func TestContributingListsEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## Packages\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section Packages")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	told, there := listed(section), []string{}
	for _, p := range listPackages(t) {
		there = append(there, strings.TrimPrefix(p.ImportPath, module+"/"))
	}
	slices.Sort(there)
	for _, p := range there {
		if !slices.Contains(told, p) {
			t.Errorf("CONTRIBUTING.md does not list the package %s", p)
		}
	}
	for i, p := range told {
		if !slices.Contains(there, p) {
			t.Errorf("CONTRIBUTING.md lists %s, which is no package", p)
		}
		if i > 0 && told[i-1] == p {
			t.Errorf("CONTRIBUTING.md lists %s twice", p)
		}
	}
}

func TestListedReadsTheFirstColumn(t *testing.T) {
	t.Parallel()
	text := "| package | owns |\n|---|---|\n| `b/x` | not `c` |\n| `a`, `b` | two |\n"
	if got := listed(text); !slices.Equal(got, []string{"a", "b", "b/x"}) {
		t.Errorf("listed = %q", got)
	}
}
