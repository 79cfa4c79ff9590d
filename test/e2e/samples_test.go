package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/handbook"
	"github.com/spool-video/spool/test/need"
)

// repository is the folder of the module.
const repository = "../.."

// TestSamplesOfTheHandbook runs every code sample of the pages that users read, page
// by page and in their order, against a server that is started as the quickstart says.
// Package handbook has the comments that say how.
func TestSamplesOfTheHandbook(t *testing.T) {
	oneBackend(t, "the pages are the same")
	t.Parallel()
	pages, err := handbook.Pages(repository)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t)
	found, ran, skipped, messages := 0, 0, 0, 0
	for _, page := range pages {
		samples, err := handbook.Samples(repository, page)
		if err != nil {
			t.Fatal(err)
		}
		found += len(samples)
		t.Run(page, func(t *testing.T) {
			if !slices.Contains([]string{"README.md", "docs/quickstart.md", "docs/api.md", "docs/backup.md"}, page) {
				need.TimeFor(t, "the pages that come first stand for it")
			}
			a, b, c := r.in(t).follow(samples)
			ran, skipped, messages = ran+a, skipped+b, messages+c
		})
	}
	t.Logf("%d samples were run, %d say why they cannot be, %d show messages", ran, skipped, messages)
	least := 20
	if need.Long() {
		least = 50
	}
	if found < 50 || ran < least {
		t.Errorf("only %d samples were found and %d of them run; want 50 and %d", found, ran, least)
	}
}

// reader is somebody who follows the handbook.
type reader struct {
	t      testing.TB
	server *server
	hooks  *hookReceiver
	films  *httptest.Server // has films to import
	tab    func() *tab
	key    string // what the first start printed
	admin  string // the address for operators
	tools  string // a folder with what the pages call spool and curl
	shell  *shell // of the page that is read
	dir    string // the folder in which that runs
}

var (
	printedKey   = regexp.MustCompile(`spool_[A-Za-z0-9_-]{20,}`)
	adminAddress = regexp.MustCompile(`served to operators","address":"([^"]+)"`)
)

func newReader(t testing.TB) *reader {
	t.Helper()
	s := start(t, allowLoopback, withEnv("SPOOL_API_KEY", ""), withEnv("SPOOL_ADMIN_LISTEN", "127.0.0.1:0"))
	r := &reader{t: t, server: s, hooks: receiveHooks(t), key: printedKey.FindString(s.out.String()), tools: t.TempDir(),
		tab: sync.OnceValue(func() *tab { return openTab(t) })}
	if m := adminAddress.FindStringSubmatch(s.log.String()); m != nil {
		r.admin = m[1]
	} else {
		t.Fatalf("the log does not say where profiles are: %s", s.log)
	}
	if r.key == "" {
		t.Fatalf("the first start printed no key: %s", s.out)
	}
	s.key = r.key
	r.films = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.ServeFile(w, req, clip(t, miniClip))
	}))
	t.Cleanup(r.films.Close)
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	// A refusal is a failure of the sample, and progress is for people.
	r.tool("curl", "exec "+curl+` -sS --fail-with-body "$@"`)
	r.tool("spool", "exec "+lab.binary+` "$@"`)
	return r
}

// tool puts a program into the path of the pages.
func (r *reader) tool(name, script string) {
	child.WriteProgram(r.t, filepath.Join(r.tools, name), []byte("#!/bin/sh\n"+script+"\n"))
}

// in returns the reader for a subtest, which reads another page.
func (r *reader) in(t testing.TB) *reader {
	other := *r
	other.t, other.server, other.shell, other.dir = t, r.server.in(t), nil, t.TempDir()
	return &other
}

// follow runs the samples of a page.
func (r *reader) follow(samples []handbook.Sample) (ran, skipped, messages int) {
	r.t.Helper()
	r.shell = openShell(r.t, r.dir, r.environment())
	r.ask(prologue)
	for _, s := range samples {
		s.Text = r.here(s.Text)
		if _, skip := s.Notes["skip"]; skip {
			skipped++
			continue
		}
		if s.Language == "http" { // nothing that could be run
			messages++
			continue
		}
		s.Text = r.elsewhere(s.Text)
		r.provide(s.Text + s.Notes["with"])
		r.run(s)
		ran++
	}
	return ran, skipped, messages
}

// elsewhere replaces another database and storage, if a sample names them, by real ones.
func (r *reader) elsewhere(text string) string {
	const database, storage = "postgres://spool:secret@db/spool", "s3://videos/spool?region=eu-central-1"
	if !strings.Contains(text, database) {
		return text
	}
	files := together.bucket.get(r.t, s3test.Start)
	r.ask("export " + strings.Join(files.Environment(), " "))
	return strings.NewReplacer(database, pgtest.Fresh(r.t), storage, files.URL(files.Bucket(r.t), "films")).Replace(text)
}

// environment is what a reader has set.
func (r *reader) environment() []string {
	return []string{"PATH=" + r.tools + ":" + os.Getenv("PATH"), "HOME=" + r.dir, "SPOOL=" + r.server.url, "KEY=" + r.key,
		"SPOOL_SERVER=" + r.server.url, "SPOOL_API_KEY=" + r.key, "SPOOL_DATA_DIR=" + r.server.dataDir}
}

// prologue has what the comments of samples use.
const prologue = `field() { value=$(grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4); [ -n "$value" ] || return 1; echo "$value"; }
post() { path=$1; shift; curl "$SPOOL$path" -H "X-API-KEY: $KEY" -H 'Content-Type: application/json' -d "$@"; }
create() { post /api/video '{"filename":"'"${1-holiday.mov}"'","resolutions":["144p"],"isPublic":true}'; }
ready() { spool upload sample.mp4 --resolutions 144p --wait --json "$@" 2>/dev/null | field id; }
until_true() { tries=0; until "$@"; do tries=$((tries + 1)); [ "$tries" -lt 2000 ] || { echo "waited in vain for: $*"; return 1; }; sleep 0.1; done; }
`

// here replaces what every reader has to replace: names of servers, keys.
func (r *reader) here(text string) string {
	return strings.NewReplacer(
		"https://video.example.com", r.server.url, "http://127.0.0.1:8080", r.server.url, "http://localhost:8080", r.server.url,
		"https://example.com/hooks/spool", r.hooks.URL+"/hooks/spool", "http://localhost:3000", r.hooks.URL,
		"127.0.0.1:9090/debug", r.admin+"/debug", "profile?seconds=20", "profile?seconds=1",
		"https://example.com/films/", r.films.URL+"/films/",
		"spool_…", r.key, "bin/spool ", "spool ",
	).Replace(text)
}

var (
	filmNames = regexp.MustCompile(`\b[a-z]+\.(?:mp4|mov)\b`)
	textNames = regexp.MustCompile(`\b[a-z]+\.[a-z]{2}\.(?:vtt|srt)\b`)
)

// provide makes the files that a sample names.
func (r *reader) provide(text string) {
	for _, name := range append(filmNames.FindAllString(text, -1), "sample.mp4") {
		film := miniClip
		if name == "film.mp4" {
			film = tinyClip // this one is watched
		}
		r.file(name, content(r.t, clip(r.t, film)))
	}
	if strings.Contains(text, "cover.jpg") {
		r.file("cover.jpg", cover(r.t))
	}
	for _, name := range textNames.FindAllString(text, -1) {
		r.file(name, []byte("1\n00:00:00,000 --> 00:00:01,500\nGood morning.\n"))
		if strings.HasSuffix(name, ".vtt") {
			r.file(name, []byte("WEBVTT\n\n00:00.000 --> 00:01.500\nGood morning.\n"))
		}
	}
}

// cover is a picture for a poster.
func cover(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 36)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file writes a file into the folder of the page, unless it is there.
func (r *reader) file(name string, text []byte) {
	path := filepath.Join(r.dir, name)
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// run runs a sample and what its comments ask for.
func (r *reader) run(s handbook.Sample) {
	r.t.Helper()
	if with := s.Notes["with"]; with != "" {
		r.ask(with)
	}
	switch s.Language {
	case "sh":
		r.runShell(s)
	case "json":
		wantJSON(r.t, s)
	case "go":
		r.runGo(s)
	case "js":
		r.runJavaScript(s)
		return // what is behind it is JavaScript too
	case "html":
		r.runHTML(s)
		return
	case "toml": // TestSettingsOfTheHandbook in cmd/spool
	case "nginx", "yaml":
		wantWhole(r.t, s)
	default:
		r.t.Errorf("%s is %q, which nobody runs. Say why with <!-- sample: skip: … -->", s, s.Language)
	}
	if then := s.Notes["then"]; then != "" {
		r.ask(r.here(then))
	}
}

// ask runs lines in the shell of the page, and returns what they print.
func (r *reader) ask(lines string) string {
	r.t.Helper()
	out, err := r.shell.run(lines)
	if err != nil {
		r.t.Fatalf("%s\n%v: %s", lines, err, out)
	}
	return out
}

func (r *reader) runShell(s handbook.Sample) {
	r.t.Helper()
	if _, serve := s.Notes["serve"]; serve {
		if strings.TrimSpace(s.Text) != "spool serve" {
			r.t.Errorf("%s does not start the server as the test does", s)
		}
		return
	}
	text := s.Text
	_, background := s.Notes["background"]
	if background {
		text = "{ " + strings.TrimSpace(text) + "\n} >background.log 2>&1 &\nuntil_true test -s background.log\n"
	}
	if out, err := r.shell.run(text); err != nil {
		log, _ := os.ReadFile(filepath.Join(r.dir, "background.log")) // where there is one
		r.t.Fatalf("%s fails: %v\n%s\nit printed %s%s", s, err, s.Text, out, log)
	}
}

// wantJSON wants an answer that can be read, or a part of one. An ellipsis stands for what was left out.
func wantJSON(t testing.TB, s handbook.Sample) {
	t.Helper()
	text := strings.TrimSpace(s.Text)
	if strings.HasPrefix(text, `"`) {
		text = "{" + text + "}"
	}
	var any any
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		t.Errorf("%s is no JSON: %v", s, err)
	}
}

// wantWhole wants settings of other programs, which need not be installed, to have no brace too many.
func wantWhole(t testing.TB, s handbook.Sample) {
	t.Helper()
	for _, pair := range []string{"{}", "[]", `""`} {
		opened, closed := strings.Count(s.Text, pair[:1]), strings.Count(s.Text, pair[1:])
		if opened != closed || pair[0] == pair[1] && opened%2 != 0 {
			t.Errorf("%s has %d %c and %d %c", s, opened, pair[0], closed, pair[1])
		}
	}
}

// runGo compiles a program against this module, and runs it unless it serves.
func (r *reader) runGo(s handbook.Sample) {
	r.t.Helper()
	dir := r.t.TempDir()
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(s.Text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	args := []string{"build", "-ldflags=-s -w", "-o", program, path}
	serves := strings.Contains(s.Text, "ListenAndServe")
	if serves {
		args = []string{"vet", path}
	}
	compile := exec.CommandContext(r.t.Context(), "go", args...)
	compile.Dir = repository // which decides what can be imported
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		r.t.Fatalf("%s does not compile: %v\n%s", s, err, out)
	}
	if serves {
		return
	}
	cmd := exec.CommandContext(r.t.Context(), program)
	cmd.Dir, cmd.Env = r.dir, r.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Errorf("%s fails: %v\n%s", s, err, out)
	}
}

// page returns a tab at an address of the server.
func (r *reader) page(address string) *visitor {
	r.t.Helper()
	v := &visitor{r.server, r.tab()}
	v.visit(address)
	return v
}

// runJavaScript runs a script in a page of the server, with $ID and $TOKEN of the
// shell as id and token.
func (r *reader) runJavaScript(s handbook.Sample) {
	r.t.Helper()
	v := r.page(r.server.url + "/healthz")
	id, token := r.ask(`printf %s "${ID-}"`), r.ask(`printf %s "${TOKEN-}"`)
	script := fmt.Sprintf("(async (spool, id, token) => {\n%s\n;%s\n})(%s, %s, %s)", s.Text, s.Notes["then"], quote(r.server.url), quote(id), quote(token))
	eval[any](v.tab, script)
}

// runHTML loads a page of another server that has the sample in it, with the video
// $ID of the shell. A frame in it has to play.
func (r *reader) runHTML(s handbook.Sample) {
	r.t.Helper()
	id := r.ask(`printf %s "${ID-}"`)
	text := anyID.ReplaceAllString(strings.ReplaceAll(s.Text, "/v/…/", "/v/"+id+"/"), id)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>A page</title>%s", text)
	}))
	defer srv.Close()
	v := r.page(srv.URL)
	if frame := regexp.MustCompile(`<iframe src="([^"]+)"`).FindStringSubmatch(text); frame != nil {
		v.wait("the frame to be there", `document.querySelector("iframe").clientHeight > 100`)
		v.visit(frame[1] + "?autoplay=1&muted=1&captions=en")
		v.waitPlaying()
	}
	if then := s.Notes["then"]; then != "" {
		v.wait(then, then)
	}
}

var anyID = regexp.MustCompile(`\b01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d\b`)
