package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description is /openapi.json as the server serves it, made strict: clients
// are told to expect fields that it does not name, but there must be none yet.
type description struct {
	document map[string]any
	compiler *jsonschema.Compiler
	seen     map[string]bool // "createVideo 201"
}

func describe(t testing.TB, s *server) *description {
	t.Helper()
	r := s.get(s.url + "/openapi.json")
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" {
		t.Fatalf("/openapi.json answers %d %v", r.status, r.header)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	d := &description{document: parsed.(map[string]any), compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	for _, schema := range lookUp(d.document, "components", "schemas").(map[string]any) {
		schema.(map[string]any)["additionalProperties"] = false
	}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("http://spool.test/openapi.json", d.document); err != nil {
		t.Fatal(err)
	}
	return d
}

// lookUp walks down into a JSON document; what is not there is nil.
func lookUp(at any, path ...string) any {
	for _, p := range path {
		m, _ := at.(map[string]any)
		at = m[p]
	}
	return at
}

// check wants an answer to be one that the description announces.
func (d *description) check(t testing.TB, method, path string, r reply) {
	t.Helper()
	place := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(r.status)}
	described := lookUp(d.document, place...)
	if described == nil {
		t.Errorf("%s %s answers %d, which is not described: %s", method, path, r.status, r.body)
		return
	}
	d.seen[fmt.Sprintf("%s %s %d", method, path, r.status)] = true
	kinds, _ := lookUp(described, "content").(map[string]any)
	if len(kinds) == 0 {
		if len(r.body) > 0 {
			t.Errorf("%s %s answers %d with %q, want no body", method, path, r.status, r.body)
		}
		return
	}
	kind := r.header.Get("Content-Type")
	if kinds[kind] == nil {
		t.Fatalf("%s %s answers %d as %q, described is %v", method, path, r.status, kind, kinds)
	}
	schema := d.schema(t, append(place, "content", kind, "schema")...)
	if kind == "text/event-stream" { // described is the data of its events, of which there is one
		_, r.body, _ = bytes.Cut(r.body, []byte("data: "))
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
	if err != nil {
		t.Fatalf("%s is not JSON: %v", r.body, err)
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s answers %d %s: %v", method, path, r.status, r.body, err)
	}
}

func (d *description) schema(t testing.TB, place ...string) *jsonschema.Schema {
	t.Helper()
	var pointer strings.Builder
	for _, p := range place {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B").Replace(p))
	}
	s, err := d.compiler.Compile("http://spool.test/openapi.json#" + pointer.String())
	if err != nil {
		t.Fatalf("there is no schema at %s: %v", pointer.String(), err)
	}
	return s
}

const (
	createPath     = "/api/video"
	completePath   = "/api/video/{id}/complete-upload"
	publicPath     = "/api/video/{id}/public"
	reportPath     = "/api/video/{id}/report"
	eventsPath     = "/api/video/{id}/events"
	privatePath    = "/api/video/{id}/private/{expirationSeconds}"
	videoPath      = "/api/video/{id}"
	resolutionPath = "/api/video/resolution/{id}"
	addPath        = "/api/video/{id}/resolutions"
	retryPath      = "/api/video/resolution/{id}/retry"
	posterPath     = "/api/video/{id}/poster"
	markPath       = "/api/watermark"
	oneMarkPath    = "/api/watermark/{id}"
	replacePath    = "/api/video/{id}/replace"
	captionsPath   = "/api/video/{id}/captions/{language}"
	tagPath        = "/api/tag"
	chaptersPath   = "/api/video/{id}/chapters"
	usagePath      = "/api/usage"
	tokenPath      = "/api/video/{id}/token"
	keyPath        = "/api/key"
	systemPath     = "/api/system"
	importPath     = "/api/video/{id}/import"
)

// ask sends a request to a path of the description and checks its answer.
func (d *description) ask(s *server, status int, method, path, id string, body any, headers ...header) reply {
	s.t.Helper()
	filled := strings.NewReplacer("{id}", id, "{expirationSeconds}", "60", "{language}", "en").Replace(path)
	r := s.call(method, filled, body, headers...)
	if r.status != status {
		s.t.Fatalf("%s %s answers %d %s; want %d", method, filled, r.status, r.body, status)
	}
	d.check(s.t, method, path, r)
	return r
}

func TestAnswersAreAsDescribed(t *testing.T) {
	usuallyOneBackend(t, "answers have the same shape on both")
	t.Parallel()
	s := shared(t)
	d := describe(t, s)
	t.Run("successes", func(t *testing.T) { describedSuccesses(s.in(t), d) })
	t.Run("webhooks", func(t *testing.T) { describedWebhooks(s.in(t), d) })
	t.Run("keys", func(t *testing.T) { describedKeys(s.in(t), d) })
	t.Run("imports", func(t *testing.T) { describedImports(s.in(t), d) })
	t.Run("audience and audit", func(t *testing.T) { describedLogs(s.in(t), d) })
	t.Run("refusals", func(t *testing.T) { describedRefusals(s.in(t), d) })
	d.checkCoverage(t)
}

// describedSuccesses leads videos through all states and looks at the answers.
func describedSuccesses(s *server, d *description) {
	const onePath = "/api/video/{id}/audio/{trackId}"
	full := newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "1080p"}, IsPublic: true, Thumbnails: []float64{0}, CustomMetadata: []byte(`{"a":[1]}`)}
	for _, public := range []bool{true, false} {
		full.IsPublic = public
		path := map[bool]string{true: publicPath, false: privatePath}[public]
		u := decode[upload](s.t, d.ask(s, 201, "POST", createPath, "", full), http.StatusCreated)
		d.ask(s, 201, "PUT", captionsPath, u.ID, "WEBVTT\n\n00:00.000 --> 00:00.500\nHello\n", header{"Content-Type", "text/vtt"})
		d.ask(s, 200, "PUT", captionsPath, u.ID, "1\n00:00:00,000 --> 00:00:00,500\nBye\n", header{"Content-Type", "application/x-subrip"})
		d.ask(s, 200, "PUT", chaptersPath, u.ID, `{"chapters":[{"startSeconds":0,"title":"One"}]}`)
		d.ask(s, 200, "GET", path, u.ID, nil)
		d.ask(s, 200, "GET", createPath, "", nil)
		s.put(u, clip(s.t, miniClip))
		d.ask(s, 201, "POST", completePath, u.ID, `{}`)
		d.ask(s, 200, "GET", path, u.ID, nil)
		w := s.waitReady(u)
		d.ask(s, 200, "GET", path, u.ID, nil)
		d.check(s.t, "GET", map[bool]string{true: "/embed/{id}.json", false: "/embed/{token}/{id}.json"}[public], s.get(w.EmbedURL+".json"))
		d.ask(s, 200, "GET", reportPath, u.ID, nil)
		d.ask(s, 200, "GET", usagePath, "", nil)
		d.ask(s, 200, "GET", keyPath, "", nil)
		d.ask(s.operator(), 200, "GET", systemPath, "", nil)
		d.ask(s, 403, "GET", systemPath, "", nil)
		d.ask(s, 200, "GET", videoPath, u.ID, nil)
		d.ask(s, 200, "PUT", posterPath, u.ID, `{"timeSeconds":0.2}`)
		d.ask(s, 200, "DELETE", posterPath, u.ID, nil)
		mark := decode[struct{ ID string }](s.t, d.ask(s, 201, "POST", markPath, "", logo, header{"Content-Type", "image/png"}), 201)
		d.ask(s, 200, "GET", markPath, "", nil)
		d.ask(s, 200, "DELETE", oneMarkPath, mark.ID, nil)
		d.ask(s, 201, "POST", tokenPath, u.ID, `{"expiresIn":60}`)
		shared := decode[struct{ ID string }](s.t, d.ask(s, 201, "POST", "/api/video/{id}/share", u.ID, `{"password":"hush"}`), 201)
		d.ask(s, 200, "GET", "/api/video/{id}/share", u.ID, nil)
		d.check(s.t, "DELETE", "/api/video/{id}/share/{shareId}", s.call("DELETE", "/api/video/"+u.ID+"/share/"+shared.ID, nil))
		track := decode[audioTrack](s.t, d.ask(s, 201, "POST", "/api/video/{id}/audio", u.ID, "no sound", header{"Content-Type", "application/octet-stream"}), 201)
		d.check(s.t, "PATCH", onePath, s.call("PATCH", "/api/video/"+u.ID+"/audio/"+track.ID, map[string]any{"label": "A dub"}))
		d.check(s.t, "DELETE", onePath, s.call("DELETE", "/api/video/"+u.ID+"/audio/"+track.ID, nil))
		d.ask(s, 200, "POST", "/api/video/{id}/original", u.ID, `{"expiresIn":60}`)
		d.ask(s, 200, "PATCH", videoPath, u.ID, `{"title":"A film","tags":["a","b"]}`)
		d.ask(s, 200, "PATCH", createPath, "", map[string]any{"ids": []string{u.ID}, "tags": map[string]any{"add": []string{"c"}}})
		d.check(s.t, "GET", tagPath, s.call("GET", tagPath+"?limit=1", nil)) // with a cursor
		d.ask(s, 200, "GET", createPath, "", nil)
		_, last, _ := strings.Cut(string(d.ask(s, 200, "GET", eventsPath, u.ID, nil).body), "id: ")
		last, _, _ = strings.Cut(last, "\n")
		d.ask(s, 204, "GET", eventsPath, u.ID, nil, header{"Last-Event-ID", last})
		d.ask(s, 201, "POST", completePath, u.ID, nil)
		d.ask(s, 201, "POST", replacePath, u.ID, newFile{Filename: "b.mp4"})
		d.ask(s, 200, "GET", videoPath, u.ID, nil)
		d.ask(s, 200, "DELETE", replacePath, u.ID, nil)
		d.ask(s, 201, "POST", addPath, u.ID, addition{"144p"}) // which it has
		d.ask(s, 200, "POST", retryPath, w.Resolutions["144p"].ID, nil)
		d.ask(s, 200, "DELETE", resolutionPath, w.Resolutions["144p"].ID, nil)
		d.ask(s, 200, "DELETE", resolutionPath, w.Resolutions["1080p"].ID, nil)
		d.ask(s, 200, "GET", path, u.ID, nil)
		d.ask(s, 200, "DELETE", captionsPath, u.ID, nil)
		d.ask(s, 200, "DELETE", chaptersPath, u.ID, nil)
		d.ask(s, 200, "DELETE", videoPath, u.ID, nil)
	}
}

// describedKeys makes and revokes a key, and lists tenants.
func describedKeys(s *server, d *description) {
	const one, tenants = "/api/key/{id}", "/api/tenant"
	made := decode[ownKey](s.t, d.ask(s, 201, "POST", keyPath, "", map[string]any{"name": "site", "scopes": []string{"read"}, "expiresIn": 3600}), 201)
	d.check(s.t, "GET", keyPath, s.call("GET", keyPath+"?limit=1", nil)) // with a cursor
	reader := s.callAs(made.Secret, "GET", keyPath, nil)                 // without keys
	d.check(s.t, "GET", keyPath, reader)
	d.ask(s, 400, "POST", keyPath, "", map[string]any{"name": ""})
	d.ask(s, 415, "POST", keyPath, "", `{}`, header{"Content-Type", "text/plain"})
	d.ask(s, 400, "DELETE", one, "42", nil)
	d.ask(s, 404, "DELETE", one, nobody, nil)
	d.ask(s, 200, "DELETE", one, made.ID, nil)
	d.ask(s, 404, "DELETE", one, made.ID, nil)
	d.ask(s, 403, "GET", tenants, "", nil) // of the tenant of a test
	operator := s.newKey("--tenant=default").Secret
	for _, query := range []string{"", "?limit=1", "?limit=0"} {
		d.check(s.t, "GET", tenants, s.callAs(operator, "GET", tenants+query, nil))
	}
}

// describedImports has a file fetched that is not allowed, and has that tried once more.
func describedImports(s *server, d *description) {
	body := `{"filename": "a.mp4", "resolutions": ["144p"], "isPublic": true, "sourceUrl": "https://localhost/a.mp4"}`
	u := decode[upload](s.t, d.ask(s, 201, "POST", createPath, "", body), http.StatusCreated)
	d.ask(s, 200, "GET", videoPath, u.ID, nil)
	s.until("the import to fail", time.Minute, func() bool { return s.importState(u.ID).Status == "fail" })
	d.ask(s, 200, "GET", videoPath, u.ID, nil)
	d.ask(s, 200, "POST", importPath, u.ID, nil)
	d.ask(s, 200, "DELETE", videoPath, u.ID, nil)
}

// describedRefusals looks at every refusal that a client can bring about.
func describedRefusals(s *server, d *description) {
	public := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	private := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	text := header{"Content-Type", "text/plain"}
	d.ask(s, 400, "POST", createPath, "", `{"resolutions":["x"]}`)
	d.check(s.t, "GET", createPath, s.call("GET", createPath+"?limit=1", nil)) // with a cursor
	d.check(s.t, "GET", createPath, s.call("GET", createPath+"?limit=0", nil))
	d.ask(s, 413, "POST", createPath, "", strings.Repeat(" ", 1<<20+1))
	d.ask(s, 415, "POST", createPath, "", `{}`, text)
	d.ask(s, 400, "POST", completePath, "42", nil)
	d.ask(s, 404, "POST", completePath, nobody, nil)
	d.ask(s, 413, "POST", completePath, public.ID, strings.Repeat(" ", 1<<20+1))
	d.ask(s, 415, "POST", completePath, public.ID, `{}`, text)
	d.ask(s, 422, "POST", completePath, public.ID, nil)
	d.ask(s, 200, "GET", publicPath, public.ID, nil) // of a video that failed
	d.ask(s, 403, "GET", publicPath, private.ID, nil)
	d.ask(s, 403, "GET", privatePath, public.ID, nil)
	for _, path := range []string{publicPath, privatePath, reportPath, videoPath, eventsPath} {
		d.ask(s, 400, "GET", path, "42", nil)
		d.ask(s, 404, "GET", path, nobody, nil)
	}
	for _, path := range []string{videoPath, resolutionPath} {
		d.ask(s, 400, "DELETE", path, "42", nil)
		d.ask(s, 404, "DELETE", path, nobody, nil)
	}
	d.ask(s, 400, "PUT", captionsPath, public.ID, "no captions", text)
	d.ask(s, 404, "PUT", captionsPath, nobody, "WEBVTT", text)
	d.ask(s, 413, "PUT", captionsPath, public.ID, strings.Repeat(" ", 2<<20+1), text)
	d.ask(s, 415, "PUT", captionsPath, public.ID, `{}`)
	d.ask(s, 404, "DELETE", captionsPath, public.ID, nil)
	d.ask(s, 400, "PUT", posterPath, public.ID, "no picture", header{"Content-Type", "image/png"})
	d.ask(s, 409, "PUT", posterPath, public.ID, `{"timeSeconds":1}`)
	d.ask(s, 413, "PUT", posterPath, public.ID, strings.Repeat(" ", 10<<20+1), header{"Content-Type", "image/png"})
	d.ask(s, 415, "PUT", posterPath, public.ID, "text", text)
	d.ask(s, 404, "DELETE", posterPath, nobody, nil)
	d.ask(s, 400, "POST", markPath, "", "no picture", header{"Content-Type", "image/png"})
	d.ask(s, 413, "POST", markPath, "", strings.Repeat(" ", 2<<20+1), header{"Content-Type", "image/png"})
	d.ask(s, 415, "POST", markPath, "", "text", text)
	d.ask(s, 404, "DELETE", oneMarkPath, nobody, nil)
	d.ask(s, 400, "PUT", chaptersPath, public.ID, "no chapters", text)
	d.ask(s, 404, "PUT", chaptersPath, nobody, "0:00 One", text)
	d.ask(s, 413, "PUT", chaptersPath, public.ID, strings.Repeat(" ", 1<<20+1), text)
	d.ask(s, 415, "PUT", chaptersPath, public.ID, "0:00 One", header{"Content-Type", "text/html"})
	d.ask(s, 404, "DELETE", chaptersPath, public.ID, nil)
	stranger := s.newKey("--scopes=read").Secret
	for key, status := range map[string]int{"": 401, "wrong": 401, stranger: 403} {
		r := s.callAs(key, "POST", createPath, someVideo)
		if r.status != status {
			s.t.Errorf("create answers %d %s, want %d", r.status, r.body, status)
		}
		d.check(s.t, "POST", createPath, r)
	}
}

// describedLogs looks at what is told of viewers, and of changes.
func describedLogs(s *server, d *description) {
	u := decode[upload](s.t, d.ask(s, 201, "POST", createPath, "", newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}), http.StatusCreated)
	d.ask(s, 200, "GET", "/api/video/{id}/audience", u.ID, nil)
	d.ask(s, 200, "GET", "/api/audience", "", nil)
	d.ask(s, 200, "GET", "/api/audit", "", nil)
	d.ask(s, 200, "GET", "/api/session", "", nil)
}

// triedElsewhere are operations that need more than this server has, and the tests that have it.
var triedElsewhere = map[string]string{
	"POST /api/video/{id}/transcribe 202":                    "TestTranscription",
	"POST /api/video/{id}/captions/{language}/translate 202": "TestTranscription",
	"PATCH /api/session/{id} 200":                            "TestAdministeringInABrowser",
	"DELETE /api/session/{id} 200":                           "TestAdministeringInABrowser",
	"POST /api/play/{id} 204":                                "TestAudienceOfOtherPlayers",
	"POST /cmcd 204":                                         "TestAudienceOfOtherPlayers",
}

// checkCoverage wants every operation of the description to have succeeded
// once, so that a new one cannot be forgotten here.
func (d *description) checkCoverage(t testing.TB) {
	t.Helper()
	for path, operations := range d.document["paths"].(map[string]any) {
		for method, operation := range operations.(map[string]any) {
			for status := range lookUp(operation, "responses").(map[string]any) {
				name := strings.ToUpper(method) + " " + path + " " + status
				if strings.HasPrefix(status, "2") && !d.seen[name] && triedElsewhere[name] == "" {
					t.Errorf("%s was never tried", name)
				}
			}
		}
	}
}

// asset is what a page loads. Links, which it does not load, may lead elsewhere.
var asset = regexp.MustCompile(`<(?:script|link|img)\s[^>]*(?:src|href)="([^"]+)"`)

// TestDocsLoadNothingFromElsewhere follows what the page refers to.
func TestDocsLoadNothingFromElsewhere(t *testing.T) {
	oneBackend(t, "the page is part of the program")
	t.Parallel()
	s := shared(t)
	page := s.get(s.url + "/docs")
	if page.status != http.StatusOK || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Fatalf("/docs answers %d %v", page.status, page.header)
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "http") {
		t.Errorf("the page may load from elsewhere: %q", policy)
	}
	found := asset.FindAllStringSubmatch(string(page.body), -1)
	if len(found) < 3 {
		t.Errorf("the page refers to %q, want at least a style and two scripts", found)
	}
	for _, m := range found {
		if strings.Contains(m[1], "//") {
			t.Errorf("the page loads %s from elsewhere", m[1])
			continue
		}
		if r := s.get(s.url + "/docs/" + m[1]); r.status != http.StatusOK || len(r.body) == 0 {
			t.Errorf("%s answers %d with %d bytes", m[1], r.status, len(r.body))
		}
	}
}

// TestDocsInABrowser reads, searches and asks as a person would.
func TestDocsInABrowser(t *testing.T) {
	oneBackend(t, "the page is part of the program")
	t.Parallel()
	v := newVisitor(t, shared(t))
	v.visit(v.url + "/docs")
	v.wait("the contents", `document.querySelectorAll("#nav a").length > 30`)
	v.wantAccessible("docs", 1280)
	v.pictures("docs-phone", 390)

	eval[any](v.tab, `document.getElementById("search").focus()`)
	eval[any](v.tab, `document.getElementById("search").value = "tone-mapped"; document.getElementById("search").dispatchEvent(new Event("input"))`)
	v.wait("the search to find encoding", `[...document.querySelectorAll("#results a")].some((a) => a.href.includes("/docs/encoding#"))`)
	eval[any](v.tab, `document.querySelector("#results a").click()`)
	v.wait("the page that was found", `location.pathname.startsWith("/docs/") && document.querySelector("h1") !== null`)

	v.visit(v.url + "/docs/reference-videos")
	v.wait("samples in three languages", `document.querySelector("#getVideo [role=tablist]")?.children.length === 3`)
	eval[any](v.tab, `[...document.querySelectorAll("#getVideo [role=tab]")].find((t) => t.textContent === "Go").click()`)
	v.wait("the sample in Go", `[...document.querySelectorAll("#createVideo .sample:not([hidden]) code")].some((c) => c.textContent.includes("client.NewVideo"))`)
	v.wantAccessible("docs-reference", 1280)
	v.wantTidy()

	v.visit(v.url + "/docs/reference-account")
	eval[any](v.tab, `document.querySelector("#getUsage details.try").open = true`)
	eval[any](v.tab, `document.querySelector("#getUsage form").elements.key.value = `+quote(v.key))
	eval[any](v.tab, `document.querySelector("#getUsage form").requestSubmit()`)
	v.wait("an answer", `document.querySelector("#getUsage .answered .good")?.textContent.startsWith("200") && document.querySelector("#getUsage .answered pre").textContent.includes("minutesToday")`)
}
