package handbook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool"
)

// site makes the handbook once for all tests.
func site(t *testing.T, links Links) *Site {
	t.Helper()
	s, err := Load(links)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEveryLinkLeadsSomewhere follows all links within the handbook, with their fragments.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	s := site(t, Static)
	href := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	ids := map[string][]string{}
	for name, f := range s.pages {
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllSubmatch(f.Body, -1) {
			ids[name+".html"] = append(ids[name+".html"], string(id[1]))
		}
	}
	for name, f := range s.pages {
		if name == searchFile {
			continue
		}
		for _, found := range href.FindAllSubmatch(f.Body, -1) {
			target := string(found[1])
			file, fragment, _ := strings.Cut(target, "#")
			if file == "" {
				file = name + ".html"
			}
			switch _, isPage := ids[file]; {
			case strings.Contains(target, "://"), strings.HasPrefix(target, s.files.Version()+"/"):
			case !isPage:
				t.Errorf("%s links to %s, which does not exist", name, target)
			case fragment != "" && !slices.Contains(ids[file], fragment):
				t.Errorf("%s links to %s, which has no such heading", name, target)
			}
		}
	}
}

// TestPagesLeaveNothingForEditors looks for comments and Markdown that was not understood.
func TestPagesLeaveNothingForEditors(t *testing.T) {
	t.Parallel()
	for name, f := range site(t, Served).pages {
		for _, left := range []string{"<!-- ", "raw HTML omitted", "](", "\n| "} {
			outside := regexp.MustCompile(`(?s)<pre>.*?</pre>|<code>.*?</code>`).ReplaceAllString(string(f.Body), "")
			if name != searchFile && strings.Contains(outside, left) {
				t.Errorf("%s contains %q", name, left)
			}
		}
	}
}

// TestServedPagesKeepToTheirPolicy asks for every page, and looks for what the policy of the pages forbids.
func TestServedPagesKeepToTheirPolicy(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	Register(mux)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	forbidden := regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+=|(src|href)="(https?:)?//[^"]*\.(js|css|woff2)"`)
	for name := range site(t, Served).pages {
		path := "/docs/" + name
		if name == Index {
			path = "/docs"
		}
		w := get(path)
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s answers %d, %v", path, w.Code, w.Header())
		}
		outside := regexp.MustCompile(`(?s)<pre>.*?</pre>|<code>.*?</code>`).ReplaceAllString(w.Body.String(), "")
		if found := forbidden.FindString(outside); found != "" && name != searchFile {
			t.Errorf("%s contains %q, which its policy forbids", path, found)
		}
	}
	for _, path := range []string{"/docs/nothing", "/docs/openapi", "/docs/0000/docs.css", "/docs/index.html"} {
		if w := get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s answers %d, want 404", path, w.Code)
		}
	}
}

// TestTheReferenceHasEveryOperation compares the pages with the description.
func TestTheReferenceHasEveryOperation(t *testing.T) {
	t.Parallel()
	d, err := readDocument(spool.Handbook)
	if err != nil {
		t.Fatal(err)
	}
	all, err := reference(spool.Handbook)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]operation{}
	for _, g := range all {
		for _, o := range g.Operations {
			shown[o.ID] = o
		}
	}
	described := 0
	for path, of := range d.Paths {
		for method, o := range of {
			if !slices.Contains(methods, method) {
				continue
			}
			described++
			found, ok := shown[o.OperationID]
			if !ok || found.Path != path || found.Method != strings.ToUpper(method) {
				t.Errorf("the reference has no %s %s", method, path)
			} else if len(found.Answers) == 0 || !strings.HasPrefix(found.Samples[0].Code, "curl ") {
				t.Errorf("%s is shown without an answer or a request", o.OperationID)
			}
		}
	}
	if described < 50 || described != len(shown) {
		t.Errorf("%d operations are described, %d shown", described, len(shown))
	}
}

// withoutSample are operations that the clients have no function for, with the reason.
var withoutSample = map[string]string{
	"createKey Go": "keys are made by people", "createKey TypeScript": "keys are made by people",
	"revokeKey Go": "keys are made by people", "revokeKey TypeScript": "keys are made by people",
	"chooseTenant Go": "for the console", "chooseTenant TypeScript": "for the console",
	"getSystem Go": "for the console", "getSystem TypeScript": "for the console",
	"listTenants Go": "for the console", "listTenants TypeScript": "for the console",
	"fetchWebhookEvents TypeScript": "spool webhooks listen does it", "getMessage TypeScript": "spool webhooks listen does it",
	"reportPlay Go": "players send it", "reportPlay TypeScript": "players send it",
	"reportCMCD Go": "players send it", "reportCMCD TypeScript": "players send it",
	"getEmbedded Go": "players read it", "getEmbedded TypeScript": "players read it",
	"getEmbeddedPrivate Go": "players read it", "getEmbeddedPrivate TypeScript": "players read it",
	"reportDelivery Go": "spool webhooks listen does it", "reportDelivery TypeScript": "spool webhooks listen does it",
}

// TestEveryOperationHasSamples wants a sample in each language, or a reason.
func TestEveryOperationHasSamples(t *testing.T) {
	t.Parallel()
	all, err := reference(spool.Handbook)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := readSamples()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		for _, o := range g.Operations {
			for _, language := range []string{"Go", "TypeScript"} {
				has := slices.ContainsFunc(o.Samples, func(s sample) bool { return s.Language == language })
				if reason := withoutSample[o.ID+" "+language]; has == (reason != "") {
					t.Errorf("%s in %s: has a sample: %t; reason for none: %q", o.ID, language, has, reason)
				}
			}
			delete(samples, o.ID)
		}
	}
	for id := range samples {
		t.Errorf("samples.txt has samples of %s, which is no operation", id)
	}
}

// TestSamplesCompile compiles all samples in Go as one program.
func TestSamplesCompile(t *testing.T) {
	t.Parallel()
	samples, err := readSamples()
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	program.WriteString("package samples\n\nimport (\n\"context\"\n\"fmt\"\n\"io\"\n\"time\"\n\n\"github.com/spool-video/spool/client\"\n)\n\nvar _ = fmt.Sprint\nvar _ = time.Second\n")
	declared := regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) := `)
	for id, all := range samples {
		for _, s := range all {
			if s.Language != "Go" {
				continue
			}
			fmt.Fprintf(&program, "\nfunc %s(ctx context.Context, c *client.Client, id, shareID, trackID string, file io.Reader) error {\n%s\n", id, s.Code)
			for _, names := range declared.FindAllStringSubmatch(s.Code, -1) {
				for name := range strings.SplitSeq(names[1], ", ") {
					fmt.Fprintf(&program, "_ = %s\n", name)
				}
			}
			program.WriteString("return nil\n}\n")
		}
	}
	compile(t, program.String())
}

// compile compiles a file as if it were a package of this module.
func compile(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "samples.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "samples", "samples.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	replaced := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replaced, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", replaced, "./samples").CombinedOutput()
	if err != nil {
		t.Errorf("the samples do not compile: %v\n%s\n%s", err, out, program)
	}
}

// TestWriteTo writes static files, and looks whether what pages load is beside them.
func TestWriteTo(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "site")
	s := site(t, Static)
	if err := s.WriteTo(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "quickstart.html", "reference-videos.html", searchFile} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	index, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, loaded := range regexp.MustCompile(`(?:href|src)="([0-9a-f]{16}/[^"]+)"`).FindAllSubmatch(index, -1) {
		if _, err := os.Stat(filepath.Join(folder, string(loaded[1]))); err != nil {
			t.Error(err)
		}
	}
}

// TestSearchFindsPassages looks for words of pages and of the reference in the index.
func TestSearchFindsPassages(t *testing.T) {
	t.Parallel()
	var records []record
	if err := json.Unmarshal(site(t, Served).pages[searchFile].Body, &records); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ page, anchor, words string }{
		{"reference-videos", "createVideo", "/api/video"},
		{"api", "create-a-video", "customMetadata"},
		{"encoding", "3-h264-profile-and-level", "High"},
	} {
		if !slices.ContainsFunc(records, func(r record) bool {
			return r.Page == want.page && r.Anchor == want.anchor && strings.Contains(r.Words, want.words)
		}) {
			t.Errorf("the search does not find %q at %s#%s", want.words, want.page, want.anchor)
		}
	}
}
