package handbook

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestLinks wants the pages of the handbook to lead somewhere, and the index to all of them.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	linked := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, m[1])
			}
			if page == "docs/README.md" {
				linked[target] = true
			}
		}
	}
	for _, page := range pages {
		if strings.HasPrefix(page, "docs/") && page != "docs/README.md" && !linked[page] {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
}

// TestEveryCodeIsExplained looks for the codes of errors and failures in the troubleshooting page.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	// What no client is told: a bug of ours, a client that went away, and what only the command line says.
	unseen := map[string]bool{"illegal_step": true, "client_closed_request": true, "key_not_found": true, "signing_key_not_found": true}
	code := regexp.MustCompile(`(?:Code:|FailureCode =) +"([a-z]+_[a-z_]+)"`)
	found := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "storetest") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 50 {
		t.Errorf("only %d codes were found", len(found))
	}
	for c := range found {
		if !unseen[c] && !strings.Contains(string(page), "`"+c+"`") {
			t.Errorf("docs/troubleshooting.md does not say what to do about %s", c)
		}
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "page.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Text\n\n<!-- sample: with: a=1 -->\n<!-- sample: background -->\n```sh\nls\n```\n```\nno language\n```\nText.\n```go\nx\n```\n")
	got, err := Samples(dir, "page.md")
	if err != nil || len(got) != 2 || got[0].Notes["with"] != "a=1" || got[0].Text != "ls\n" || got[0].Line != 5 || len(got[1].Notes) != 0 {
		t.Errorf("found %+v, %v", got, err)
	}
	for _, wrong := range []string{"<!-- sample: skip: -->\n```sh\n```\n", "<!-- sample: skipp: x -->\n", "<!-- sample: skip: x\n-->\n", "```sh\n"} {
		write(wrong)
		if _, err := Samples(dir, "page.md"); err == nil {
			t.Errorf("%q has no fault", wrong)
		}
	}
}

// Every page from which somebody may install the program says what the machine must have.
func TestRequirements(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.md", "docs/quickstart.md", "docs/docker.md", "docs/systemd.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"Linux 6.2", "Debian 12", "ffmpeg"} {
			if !strings.Contains(string(text), what) {
				t.Errorf("%s does not mention %s", page, what)
			}
		}
	}
}
