package console

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/web/problem"
)

func newHandler(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	if err := Register(mux, Config{}); err != nil {
		t.Fatal(err)
	}
	return problem.Mux(mux)
}

func do(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	tests := []struct {
		name, method, path string
		status             int
		contentType        string
	}{
		{"the page", "GET", "/", 200, "text/html; charset=utf-8"},
		{"the page without its content", "HEAD", "/", 200, "text/html; charset=utf-8"},
		{"a script", "GET", "/console/app.js", 200, "text/javascript; charset=utf-8"},
		{"the style", "GET", "/console/style.css", 200, "text/css; charset=utf-8"},
		{"a generated script", "GET", "/console/resolutions.js", 200, "text/javascript; charset=utf-8"},
		{"the icon", "GET", "/console/icon.svg", 200, "image/svg+xml"},
		{"the page has one URL", "GET", "/console/index.html", 404, "application/problem+json"},
		{"no such file", "GET", "/console/other.js", 404, "application/problem+json"},
		{"the folder", "GET", "/console/", 404, "application/problem+json"},
		{"a source of the server", "GET", "/console/..%2fconsole.go", 404, "application/problem+json"},
		{"any other path", "GET", "/other", 404, "application/problem+json"},
		{"another method", "POST", "/", 405, "application/problem+json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := do(h, tt.method, tt.path)
			if got := w.Header().Get("Content-Type"); w.Code != tt.status || got != tt.contentType {
				t.Errorf("%s %s answers %d %q, want %d %q", tt.method, tt.path, w.Code, got, tt.status, tt.contentType)
			}
		})
	}
}

func TestEveryFileIsServedSafely(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	files, err := loadFiles()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/"}
	for name := range files {
		if name != index {
			paths = append(paths, "/console/"+name)
		}
	}
	for _, path := range paths {
		w := do(h, "GET", path)
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s answers %d with %d bytes", path, w.Code, w.Body.Len())
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "strict-origin", "Cache-Control": "no-cache",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; media-src 'self' blob: data:; img-src 'self'; " +
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types spool-player",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s of %s is %q, want %q", name, path, got, want)
			}
		}
		if again := do(h, "GET", path, "If-None-Match", w.Header().Get("ETag")); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s answers a client that has it with %d and %d bytes, want 304", path, again.Code, again.Body.Len())
		}
	}
}

func TestThePolicyAllowsOnlyTheGivenOrigins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		urls []string
		want string // "" means an error
	}{
		{"no other origin", []string{"", ""}, "'self'"},
		{"a bucket elsewhere", []string{"", "https://files.example.com"}, "'self' https://files.example.com"},
		{"a base URL with a path", []string{"https://example.com/spool/", ""}, "'self' https://example.com"},
		{"two URLs of one origin", []string{"https://example.com", "https://example.com/bucket"}, "'self' https://example.com"},
		{"a port", []string{"http://10.0.0.1:9000"}, "'self' http://10.0.0.1:9000"},
		{"a wildcard", []string{"https://*.example.com"}, ""},
		{"another directive", []string{"https://example.com;script-src"}, ""},
		{"another scheme", []string{"javascript:alert(1)"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			policy, err := policyFor(tt.urls)
			if tt.want == "" {
				if err == nil {
					t.Errorf("policyFor(%q) = %s, want an error", tt.urls, policy)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, directive := range []string{"connect-src " + tt.want, "media-src " + tt.want + " blob: data:", "img-src " + tt.want} {
				if !strings.Contains(policy, "; "+directive+"; ") {
					t.Errorf("there is no %q: %s", directive, policy)
				}
			}
			if !strings.Contains(policy, "script-src 'self'; style-src 'self'; ") {
				t.Errorf("scripts and styles may come from elsewhere: %s", policy)
			}
		})
	}
}

// risky finds ways to turn text into markup or code, and foreign URLs. The policy
// would block them in a browser; this finds them earlier.
var risky = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|\sstyle=|<style|<script>|\son[a-z]+="|https?:`)

// svgNamespace is the only URL that is allowed: nobody requests it.
var svgNamespace = regexp.MustCompile(`(?:xmlns=|svgNamespace = )"http://www\.w3\.org/2000/svg"`)

// A browser loads this on a phone, too.
func TestTheConsoleIsSmall(t *testing.T) {
	t.Parallel()
	files, err := loadFiles()
	if err != nil {
		t.Fatal(err)
	}
	h, n, first, fonts := newHandler(t), 0, 0, 0
	for name := range files {
		path := "/console/" + name
		if name == index {
			path = "/"
		}
		w := do(h, "GET", path, "Accept-Encoding", "gzip, br")
		if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s comes with %v", path, w.Header())
		}
		if strings.HasSuffix(name, ".woff2") { // fonts do not delay what the page shows; see font-display in tokens.css
			fonts += w.Body.Len()
			continue
		}
		n += w.Body.Len()
		if name == index || strings.Contains(string(files[index].Body), `"console/`+name+`"`) {
			first += w.Body.Len()
		}
	}
	if fonts > 56<<10 {
		t.Errorf("the fonts have %d bytes, want at most 56 KiB", fonts)
	}
	if first > 80<<10 || n > 140<<10 {
		t.Errorf("the console's files have %d bytes when compressed, %d of them before a video is opened; want at most 140 and 80 KiB", n, first)
	} else {
		t.Logf("%d files, %d bytes when compressed, %d of them at first", len(files), n, first)
	}
}

// imported finds the modules that a module needs before it runs.
var imported = regexp.MustCompile(`(?m)^import .*from "\./([^"]+)"`)

// Modules that import others would be found one after the other: the page names all that the list of videos needs. Those
// of a video's page are loaded later.
func TestThePageNamesItsModules(t *testing.T) {
	t.Parallel()
	files, err := loadFiles()
	if err != nil {
		t.Fatal(err)
	}
	needed := []string{"app.js"}
	for i := 0; i < len(needed); i++ {
		if !strings.Contains(string(files[index].Body), `"console/`+needed[i]+`"`) {
			t.Errorf("%s does not name %s", index, needed[i])
		}
		for _, m := range imported.FindAllSubmatch(files[needed[i]].Body, -1) {
			if name := string(m[1]); !slices.Contains(needed, name) {
				needed = append(needed, name)
			}
		}
	}
	if len(needed) < 20 || slices.Contains(needed, "video.js") {
		t.Errorf("the list of videos needs %d modules: %v", len(needed), needed)
	}
}

func TestThePageIsPlainAndLoadsOnlyItsOwnFiles(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	links := regexp.MustCompile(`(?:src|href)="(console/[^"]+)"|from "\./([^"]+)"`)
	files, err := loadFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range files {
		text := svgNamespace.ReplaceAllString(string(f.Body), "")
		if found := risky.FindString(text); found != "" {
			t.Errorf("%s has %q in it", name, found)
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			path := "/" + m[1]
			if m[2] != "" {
				path = "/console/" + m[2]
			}
			if w := do(h, "GET", path); w.Code != 200 {
				t.Errorf("%s loads %s, which answers %d", name, path, w.Code)
			}
		}
	}
}
