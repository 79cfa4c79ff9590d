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

// wings says which wings of internal/ each wing may import, beside itself. The
// arrows point one way: cmd → web, worker → service → backend, engine → video.
var wings = map[string][]string{
	"web":     {"metrics", "service", "backend", "video"},
	"worker":  {"metrics", "service", "engine", "backend", "video"},
	"metrics": {"service", "backend", "video"},
	"service": {"engine", "backend", "video"},
	"engine":  {"video"},
	"backend": {"video"},
	"video":   {},
	"arch":    {},

	"clientcmd": {},
	"doctor":    {"web", "engine", "backend", "video"},
	"settings":  {"video"},

	"panics": {},
	"cache":  {"panics"},
	"limit":  {"cache", "video"},

	"language": {},
}

// tools are wings that all others may import: small packages that know nothing of a service.
var tools = []string{"panics", "cache", "limit", "language"}

// wingOf returns the folder of internal/ that a package lies in, or "".
func wingOf(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, module+"/internal/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

// rule says what some packages may not import although their wing may.
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

// implementations forbids the packages below a contract, but not the contract.
func implementations(contracts ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(contracts, func(n string) bool {
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

// slowToStart forbids all but some packages that have next to nothing to initialise.
func slowToStart(imported string) bool {
	return !slices.Contains([]string{
		"encoding/json", "errors", "fmt", "math", "os", "runtime", "slices", "syscall", "time", "unsafe", "golang.org/x/sys/unix",
		"github.com/landlock-lsm/go-landlock/landlock", "github.com/landlock-lsm/go-landlock/landlock/syscall",
	}, imported)
}

var rules = []rule{
	{[]string{"video"}, notStandard,
		"video holds the words that everyone speaks: it stands on the standard library only, so that anyone can import it"},
	{[]string{"engine/mp4"}, func(imported string) bool { return ours(imported) && !anyOf("panics")(imported) },
		"mp4 reads and writes files: it knows nothing of a service"},
	{[]string{"engine/sandbox/launch"}, slowToStart,
		"launch runs before all packages that it does not import, and each ffmpeg waits for those that it does"},
	{[]string{"service/auth/sign"}, func(imported string) bool { return ours(imported) && !anyOf("cache")(imported) },
		"sign is a small piece of cryptography that must be readable on its own"},
	{[]string{"engine/stream"}, func(imported string) bool { return ours(imported) && !anyOf("engine/mp4")(imported) },
		"stream turns MP4 files into playlists and segments: it knows nothing of a service"},
	{[]string{"web/api", "web/tus", "web/console"}, anyOf("backend/store", "backend/blob", "backend/queue"),
		"the edge asks the services, so that every rule is written once"},
	{[]string{"web/console"}, anyOf("service", "web/api", "web/delivery", "web/tus"),
		"the console is a client of the API like any other: a right of its own would be one that nobody checks"},
	{[]string{"web", "worker", "metrics"}, anyOf("backend/store"),
		"what may be read or changed is decided in service"},
	{[]string{"web", "worker", "metrics", "service"}, implementations("backend/blob", "backend/queue"),
		"only the contracts blob and queue may be used here; which implementation runs is decided in cmd/spool"},
	{[]string{"web", "worker", "service", "engine"}, func(imported string) bool {
		return within(imported, "github.com/aws/aws-sdk-go-v2") || within(imported, "github.com/aws/smithy-go")
	}, "all that is specific to S3 lies in backend/blob/s3"},
}

// engineOrder says which packages of internal/engine each of them may import. Each
// knows only what it is built from: a plan is made of what was probed, and an
// encode carries out a plan.
var engineOrder = map[string][]string{
	"sandbox":        {"sandbox/launch"},
	"mp4":            {},
	"sandbox/launch": {},
	"webvtt":         {},
	"colour":         {},
	"stream":         {"mp4"},
	"ffmpeg":         {"sandbox"},
	"probe":          {"colour", "ffmpeg", "sandbox"},
	"cover":          {"ffmpeg", "probe", "sandbox"},
	"plan":           {"colour", "cover", "ffmpeg", "mp4", "probe"},
	"encode":         {"colour", "ffmpeg", "mp4", "plan", "sandbox"},
	"still":          {"ffmpeg", "sandbox"},
	"speech":         {"sandbox", "webvtt"},
	"enginetest":     {"ffmpeg", "sandbox"},
}

// againstEngineOrder reports whether both are packages of the engine and the
// first must not import the second.
func againstEngineOrder(from, imported string) bool {
	const engine = module + "/internal/engine/"
	a, inside := strings.CutPrefix(from, engine)
	b, ok := strings.CutPrefix(imported, engine)
	return inside && ok && !slices.Contains(engineOrder[a], b)
}

// serviceOrder lists the packages of service: each may import only those before it, so that there is
// no circle and every actor can be read without those that come later.
var serviceOrder = []string{"objects", "failpoint", "words", "auth", "audit", "signin", "tenants", "brand", "watermarks", "chapters", "pipeline", "system", "cdn", "visibility", "replace", "captions", "speech", "uploads", "imports", "sound", "playback", "pictures", "catalog", "audience", "share", "webhook", "janitor", "backup", "servicetest"}

// againstOrder reports whether an import between two packages of service breaks serviceOrder.
func againstOrder(importer, imported string) bool {
	position := func(importPath string) int {
		rest, _ := strings.CutPrefix(importPath, module+"/internal/service/")
		name, _, _ := strings.Cut(rest, "/")
		return slices.Index(serviceOrder, name)
	}
	if wingOf(importer) != "service" || wingOf(imported) != "service" || sameFamily(importer, imported) {
		return false
	}
	from, to := position(importer), position(imported)
	return from < 0 || to < 0 || to >= from
}

// testSupport reports whether a package only helps tests: it may put real parts together that the
// program keeps apart.
func testSupport(importPath string) bool { return strings.HasSuffix(path.Base(importPath), "test") }

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
			if within(p.ImportPath, module+"/client") && notStandard(imported) {
				found = append(found, fmt.Sprintf("%s must not import %s: whoever imports the client gets the standard library only", p.ImportPath, imported))
			}
			if within(imported, module+"/cmd") {
				found = append(found, fmt.Sprintf("%s imports %s: cmd is the wiring at the top, and nobody builds on it", p.ImportPath, imported))
			}
			if from, to := wingOf(p.ImportPath), wingOf(imported); from != "" && to != "" && from != to && !slices.Contains(tools, to) && !slices.Contains(wings[from], to) {
				found = append(found, fmt.Sprintf("%s must not import %s: the arrows are cmd → web, worker → service → backend, engine → video", p.ImportPath, imported))
			}
			if againstEngineOrder(p.ImportPath, imported) {
				found = append(found, fmt.Sprintf("%s must not import %s: the order is sandbox ← ffmpeg ← probe ← plan ← encode, and mp4 ← stream (see engineOrder)", p.ImportPath, imported))
			}
			if againstOrder(p.ImportPath, imported) {
				found = append(found, fmt.Sprintf("%s must not import %s: inside service the order is %s", p.ImportPath, imported, strings.Join(serviceOrder, " ← ")))
			}
			for _, r := range rules {
				if testSupport(p.ImportPath) {
					continue
				}
				if anyOf(r.packages...)(p.ImportPath) && r.forbidden(imported) && !sameFamily(p.ImportPath, imported) {
					found = append(found, fmt.Sprintf("%s must not import %s: %s", p.ImportPath, imported, r.why))
				}
			}
		}
	}
	return found
}

// sameFamily reports whether two packages lie in the same folder of a wing: an
// implementation may import its contract and its own parts.
func sameFamily(a, b string) bool {
	family := func(p string) string {
		parts := strings.SplitN(strings.TrimPrefix(p, module+"/internal/"), "/", 3)
		return strings.Join(parts[:min(len(parts), 2)], "/")
	}
	return ours(a) && ours(b) && family(a) == family(b)
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
		{"internal/video", module + "/internal/backend/queue", "the arrows are"},
		{"internal/video", "encoding/json", ""},
		{"internal/engine/mp4", module + "/internal/video", "nothing of a service"},
		{"internal/engine/mp4", "github.com/Eyevinn/mp4ff/mp4", ""},
		{"internal/engine/stream", module + "/internal/engine/mp4", ""},
		{"internal/engine/stream", module + "/internal/video", "nothing of a service"},
		{"internal/engine/sandbox", module + "/internal/backend/blob", "the arrows are"},
		{"internal/engine/sandbox", module + "/internal/engine/sandbox/launch", ""},
		{"internal/engine/sandbox/launch", "net/http", "each ffmpeg waits"},
		{"internal/engine/sandbox/launch", "encoding/json", ""},
		{"internal/engine/ffmpeg", module + "/internal/engine/sandbox", ""},
		{"internal/engine/ffmpeg", module + "/internal/engine/probe", "sandbox ← ffmpeg"},
		{"internal/engine/colour", module + "/internal/engine/ffmpeg", "sandbox ← ffmpeg"},
		{"internal/engine/probe", module + "/internal/engine/colour", ""},
		{"internal/engine/probe", module + "/internal/engine/plan", "sandbox ← ffmpeg"},
		{"internal/engine/plan", module + "/internal/engine/probe", ""},
		{"internal/engine/plan", module + "/internal/engine/encode", "sandbox ← ffmpeg"},
		{"internal/engine/encode", module + "/internal/engine/plan", ""},
		{"internal/engine/encode", module + "/internal/engine/probe", "sandbox ← ffmpeg"},
		{"internal/engine/encode", module + "/internal/engine/enginetest", "sandbox ← ffmpeg"},
		{"internal/engine/probe", module + "/internal/service/catalog", "the arrows are"},
		{"internal/engine/thumbnails", module + "/internal/engine/ffmpeg", "sandbox ← ffmpeg"},
		{"internal/web/api", module + "/internal/backend/store", "asks the services"},
		{"internal/web/api", module + "/internal/backend/queue", "asks the services"},
		{"internal/web/api", module + "/internal/service/catalog", ""},
		{"internal/web/api", module + "/internal/engine/probe", "the arrows are"},
		{"internal/web/api", module + "/internal/worker", "the arrows are"},
		{"internal/web/tus", module + "/internal/backend/blob/s3", "asks the services"},
		{"internal/web/tus", module + "/internal/service/uploads", ""},
		{"internal/web/tus", "github.com/aws/aws-sdk-go-v2/service/s3", "specific to S3"},
		{"internal/web/console", module + "/internal/service/catalog", "a client of the API"},
		{"internal/web/console", module + "/internal/web/problem", ""},
		{"internal/web/delivery", module + "/internal/backend/blob", ""},
		{"internal/web/delivery", module + "/internal/backend/blob/disk", "only the contracts"},
		{"internal/worker", module + "/internal/backend/queue", ""},
		{"internal/worker", module + "/internal/backend/queue/local", "only the contracts"},
		{"internal/worker", module + "/internal/backend/store", "decided in service"},
		{"internal/worker", module + "/internal/web/access", "the arrows are"},
		{"internal/worker", module + "/internal/metrics", ""},
		{"internal/metrics", module + "/internal/backend/store", "decided in service"},
		{"internal/service/uploads", module + "/internal/metrics", "the arrows are"},
		{"internal/service/catalog", module + "/internal/backend/store", ""},
		{"internal/service/catalog", module + "/internal/backend/blob/disk", "only the contracts"},
		{"internal/service/catalog", module + "/internal/web/problem", "the arrows are"},
		{"internal/backend/queue/local", module + "/internal/backend/queue", ""},
		{"internal/backend/queue/local", module + "/internal/service/catalog", "the arrows are"},
		{"internal/backend/blob/s3", module + "/internal/engine/mp4", "the arrows are"},
		{"internal/backend/blob/s3", module + "/internal/panics", ""},
		{"internal/panics", module + "/internal/video", "the arrows are"},
		{"internal/service/janitor", module + "/internal/service/catalog", ""},
		{"internal/service/catalog", module + "/internal/service/auth/sign", ""},
		{"internal/service/auth", module + "/internal/service/auth/sign", ""},
		{"internal/service/pipeline", module + "/internal/service/uploads", "the order is"},
		{"internal/service/objects", module + "/internal/service/auth", "the order is"},
		{"internal/service/unlisted", module + "/internal/service/objects", "the order is"},
		{"internal/service/catalog", module + "/internal/service/servicetest", "the order is"},
		{"internal/service/servicetest", module + "/internal/backend/blob/disk", ""},
		{"internal/service/catalog", module + "/cmd/spool", "nobody builds on it"},
		{"internal/service/utils", "fmt", "does not say what it owns"},
		{"internal/clientcmd", module + "/client", ""},
		{"internal/clientcmd", module + "/internal/video", "the arrows are"},
		{"client", "net/http", ""},
		{"client", "github.com/google/uuid", "standard library only"},
		{"client", module + "/internal/video", "standard library only"},
	}
	for _, tt := range tests {
		found := strings.Join(breaches([]pkg{{ImportPath: module + "/" + tt.from, Imports: []string{tt.imported}}}), "\n")
		if (found == "") != (tt.want == "") || !strings.Contains(found, tt.want) {
			t.Errorf("%s importing %s gives %q, want %q", tt.from, tt.imported, found, tt.want)
		}
	}
}
