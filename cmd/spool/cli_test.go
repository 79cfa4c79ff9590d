package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/spool-video/spool/internal/settings"
)

// commandLines returns every command of the grammar, deepest ones included.
func commandLines(node *kong.Node, path []string) [][]string {
	var all [][]string
	for _, child := range node.Children {
		line := append(append([]string{}, path...), child.Name)
		all = append(append(all, line), commandLines(child, line)...)
	}
	return all
}

func newTestParser(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := newParser(new(cli), &settings.Settings{Environ: lookup(nil)}, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// forget has a parser take no flag or argument of an earlier command line for one that is given.
func forget(t *testing.T, parser *kong.Kong) {
	t.Helper()
	err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if value, ok := node.(*kong.Value); ok { // that of a flag, too
			value.Set = false
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHelpTeachesByExamplesThatWork(t *testing.T) {
	t.Parallel()
	parser := newTestParser(t) // for all examples: making one takes longer than a hundred of them
	lines := append(commandLines(parser.Model.Node, nil), nil)
	if len(lines) != 74 {
		t.Fatalf("found %d commands, want 74: %q", len(lines), lines)
	}
	for _, line := range lines {
		t.Run("spool "+strings.Join(line, " "), func(t *testing.T) {
			p, stdout, stderr := newProcess(nil, nil)
			if code := p.run(t.Context(), append(line, "--help")); code != exitOK || stderr.Len() > 0 {
				t.Fatalf("--help exits with %d and prints %q", code, stderr)
			}
			examples := 0
			for text := range strings.Lines(stdout.String()) {
				command, found := strings.CutPrefix(strings.TrimSpace(text), "spool ")
				if !found || !strings.HasPrefix(text, "  ") {
					continue
				}
				command, _, _ = strings.Cut(command, "   ") // what follows explains it
				examples++
				if strings.HasSuffix(command, "--help") {
					continue
				}
				forget(t, parser)
				if _, err := parser.Parse(strings.Fields(command)); err != nil {
					t.Errorf("the example %q does not work: %v", command, err)
				}
			}
			if examples == 0 {
				t.Errorf("the help shows no example:\n%s", stdout)
			}
		})
	}
}

func TestHelpNamesTheEnvironmentVariableOfEverySetting(t *testing.T) {
	t.Parallel()
	p, stdout, _ := newProcess(nil, nil)
	p.run(t.Context(), []string{"serve", "--help"})
	if len(p.settings.Names) < 20 {
		t.Fatalf("only %d settings: %q", len(p.settings.Names), p.settings.Names)
	}
	for _, name := range p.settings.Names {
		if !strings.Contains(stdout.String(), "[$"+settings.EnvName(name)+"]") {
			t.Errorf("serve --help does not name %s", settings.EnvName(name))
		}
	}
}

func TestWithoutACommandTheHelpIsShown(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                "Usage: spool <command>",
		"help":            "Usage: spool <command>",
		"help upload":     "Usage: spool upload",
		"help keys list":  "Usage: spool keys list",
		"keys --help":     "Usage: spool keys <command>",
		"serve --no-such": "",
	} {
		p, stdout, _ := newProcess(nil, nil)
		code := p.run(t.Context(), strings.Fields(line))
		if shown := code == exitOK && strings.HasPrefix(stdout.String(), want); shown != (want != "") {
			t.Errorf("spool %s exits with %d and prints:\n%s\nwant %q", line, code, stdout, want)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"srve":                  `there is no command "srve"; did you mean "serve"?`,
		"webhooks nonsense":     `there is no command "nonsense" (spool webhooks --help`,
		"serve nonsense":        `unexpected argument nonsense`,
		"serve --lissten=:1":    `did you mean "--listen"?`,
		"serve --workers=many":  "--workers",
		"keys create":           "--name",
		"keys revoke":           "<id>",
		"keys":                  `"create", "list"`,
		"version --data-dir=/x": "--data-dir",
		"upload":                "(spool upload --help explains it)",
		"webhooks add --x":      "(spool webhooks add --help explains it)",
		"nonsense":              `there is no command "nonsense" (spool --help explains the commands)`,
	} {
		p, _, stderr := newProcess(nil, nil)
		if code := p.run(t.Context(), strings.Fields(line)); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("spool %s exits with %d and says %q; want %d and %q", line, code, stderr, exitUsage, want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		p, stdout, stderr := newProcess(nil, nil)
		code := p.run(t.Context(), []string{arg})
		if out := stdout.String(); code != exitOK || !strings.HasPrefix(out, "spool ") || strings.Count(out, "\n") != 1 || stderr.Len() > 0 {
			t.Errorf("spool %s exits with %d and prints %q, %q; want one line with the version", arg, code, out, stderr)
		}
	}
}

func TestFileNamesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var c cli
	p, _, _ := newProcess(nil, nil)
	parser, err := newParser(&c, &p.settings)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"latin1-\xfc.mov", "a,b.mov", "new\nline.mov", "<&>.mov", `back\slash.mov`}
	if _, err := parser.Parse(append([]string{"upload", "--captions=\xfc.en.vtt"}, names...)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Upload.Files, names) || !slices.Equal(c.Upload.Captions, []string{"\xfc.en.vtt"}) {
		t.Errorf("%q became %q, and the captions are %q", names, c.Upload.Files, c.Upload.Captions)
	}
}
