package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/spool-video/spool"

// pkg is what go list tells about a package. Imports are those of the program
// itself: a test may put real parts together that the program keeps apart.
type pkg struct {
	ImportPath string
	Imports    []string
}

// rule says what some packages may not import.
type rule struct {
	packages  []string // below internal/, each with everything below it
	forbidden func(imported string) bool
	why       string
}

// ours reports whether a package is part of this module.
func ours(imported string) bool { return within(imported, module) }

// within reports whether a package is dir or lies below it.
func within(imported, dir string) bool {
	return imported == dir || strings.HasPrefix(imported, dir+"/")
}

// anyOf forbids packages below internal/, each with everything below it.
func anyOf(names ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return within(imported, module+"/internal/"+n) })
	}
}

// below forbids implementations, but not the contract they implement.
func below(names ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return strings.HasPrefix(imported, module+"/internal/"+n+"/")
		})
	}
}

// notStandard forbids all but the standard library, whose paths have no dot in
// their first element.
func notStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

var rules = []rule{
	{[]string{"video"}, notStandard,
		"video holds the words that everyone speaks: it stands on the standard library only, so that anyone can import it"},
	{[]string{"mp4"}, ours,
		"mp4 turns pieces into a film: it knows files and nothing of a service"},
	{[]string{"sign"}, ours,
		"sign is a small piece of cryptography that must be readable on its own"},
	{[]string{"stream"}, func(imported string) bool { return ours(imported) && !anyOf("mp4")(imported) },
		"stream turns films into playlists and segments: it knows films and nothing of a service"},
	{[]string{"media"}, anyOf("store", "blob", "queue", "app", "api", "delivery", "tus", "worker"),
		"media knows local paths only: what touches hostile files must not reach the database or the storage"},
	{[]string{"store", "blob", "queue"}, anyOf("app", "api", "delivery", "tus", "worker", "media"),
		"back ends are dumb: policy is written once, above them, in app"},
	{[]string{"api", "tus", "console"}, anyOf("store", "blob", "queue", "media", "worker"),
		"the edge asks app, so that every rule is written once"},
	{[]string{"console"}, anyOf("app", "api", "delivery", "tus"),
		"the console is a client of the API like any other: a right of its own would be one that nobody checks"},
	{[]string{"delivery", "worker"}, anyOf("store"),
		"what may be read or changed is decided in app"},
	{[]string{"delivery", "worker"}, below("blob", "queue"),
		"only the contracts blob and queue may be used here; which implementation runs is decided in cmd/spool"},
	{[]string{"app"}, below("blob", "queue"),
		"app speaks to contracts; which implementation runs is decided in cmd/spool"},
	{[]string{"app"}, anyOf("api", "delivery", "tus", "worker", "media"),
		"app is asked by the edges and must not know them"},
}

// vague lists package names that do not say what a package owns.
var vague = []string{"utils", "util", "common", "helpers", "helper", "models", "misc", "shared"}

// breaches returns a sentence for each broken rule.
func breaches(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		if slices.Contains(vague, path.Base(p.ImportPath)) {
			found = append(found, fmt.Sprintf("%s has a name that does not say what it owns: everything ends up in such a package", p.ImportPath))
		}
		for _, imported := range p.Imports {
			if within(imported, module+"/cmd") {
				found = append(found, fmt.Sprintf("%s imports %s: cmd is the wiring at the top, and nobody builds on it", p.ImportPath, imported))
			}
			for _, r := range rules {
				if anyOf(r.packages...)(p.ImportPath) && r.forbidden(imported) && !sameFamily(p.ImportPath, imported) {
					found = append(found, fmt.Sprintf("%s must not import %s: %s", p.ImportPath, imported, r.why))
				}
			}
		}
	}
	return found
}

// sameFamily reports whether two packages lie in the same folder of internal/:
// an implementation may import its contract and its own parts.
func sameFamily(a, b string) bool {
	top := func(p string) string {
		p, _ = strings.CutPrefix(p, module+"/internal/")
		first, _, _ := strings.Cut(p, "/")
		return first
	}
	return ours(a) && ours(b) && top(a) == top(b)
}

func TestImportRules(t *testing.T) {
	t.Parallel()
	for _, b := range breaches(listPackages(t)) {
		t.Error(b)
	}
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			if len(all) < 5 {
				t.Fatalf("go list found only %d packages", len(all))
			}
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestTheRulesFindBreaches breaks each rule once: a rule that cannot fail would
// be worth nothing.
func TestTheRulesFindBreaches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, imported string
		want           string // in the sentence; "" means allowed
	}{
		{"internal/video", "github.com/google/uuid", "standard library only"},
		{"internal/video", module + "/internal/queue", "standard library only"},
		{"internal/video", "encoding/json", ""},
		{"internal/mp4", module + "/internal/video", "nothing of a service"},
		{"internal/mp4", "github.com/Eyevinn/mp4ff/mp4", ""},
		{"internal/stream", module + "/internal/mp4", ""},
		{"internal/stream", module + "/internal/blob", "nothing of a service"},
		{"internal/media/sandbox", module + "/internal/blob", "local paths only"},
		{"internal/media", module + "/internal/media/sandbox", ""},
		{"internal/api", module + "/internal/store", "asks app"},
		{"internal/api", module + "/internal/queue", "asks app"},
		{"internal/api", module + "/internal/app", ""},
		{"internal/tus", module + "/internal/blob/s3", "asks app"},
		{"internal/tus", module + "/internal/app", ""},
		{"internal/console", module + "/internal/app", "a client of the API"},
		{"internal/console", module + "/internal/problem", ""},
		{"internal/delivery", module + "/internal/blob", ""},
		{"internal/delivery", module + "/internal/blob/disk", "only the contracts"},
		{"internal/worker", module + "/internal/queue", ""},
		{"internal/worker", module + "/internal/queue/local", "only the contracts"},
		{"internal/worker", module + "/internal/store", "decided in app"},
		{"internal/app", module + "/internal/store", ""},
		{"internal/app", module + "/internal/blob/disk", "app speaks to contracts"},
		{"internal/queue/local", module + "/internal/queue", ""},
		{"internal/queue/local", module + "/internal/app", "dumb"},
		{"internal/app", module + "/cmd/spool", "nobody builds on it"},
		{"internal/app/utils", "fmt", "does not say what it owns"},
		{"internal/apiary", module + "/internal/store", ""},
	}
	for _, tt := range tests {
		found := strings.Join(breaches([]pkg{{ImportPath: module + "/" + tt.from, Imports: []string{tt.imported}}}), "\n")
		if (found == "") != (tt.want == "") || !strings.Contains(found, tt.want) {
			t.Errorf("%s importing %s gives %q, want %q", tt.from, tt.imported, found, tt.want)
		}
	}
}
