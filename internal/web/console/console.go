// Package console serves the page at / on which people upload, watch and delete
// videos with a browser. The page is plain HTML, CSS and JavaScript without a
// build step. It is a client of the JSON interface like any other and has no
// right of its own: everything it shows it asks for with the key that the person
// gave.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/web/problem"
)

// files is the page and what it loads.
//
//go:embed page
var files embed.FS

// start is the page itself. It is at / only, so that it has one address.
const start = "index.html"

// Config is what the page has to know about its surroundings.
type Config struct {
	// Places are addresses other than the page's own that files are uploaded to
	// and played from: the base URL, if one is set, and the storage, if clients
	// are sent there. Only their origins count; empty ones are passed over.
	Places []string
}

// console serves the files, each of which is ready to be sent.
type console struct {
	policy string
	files  map[string]file
}

type file struct {
	contentType string
	etag        string
	body        []byte
}

// Register adds the page to mux.
func Register(mux *http.ServeMux, config Config) error {
	policy, err := policyFor(config.Places)
	if err != nil {
		return err
	}
	c := &console{policy: policy, files: map[string]file{}}
	entries, err := files.ReadDir("page")
	if err != nil {
		return fmt.Errorf("read the console's files: %w", err)
	}
	for _, e := range entries {
		if c.files[e.Name()], err = load(e.Name()); err != nil {
			return err
		}
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, start) })
	mux.HandleFunc("GET /console/{file}", c.serveFile)
	return nil
}

// contentTypes names the media types by extension: those that the system knows
// differ from machine to machine.
var contentTypes = map[string]string{
	"html": "text/html; charset=utf-8",
	"css":  "text/css; charset=utf-8",
	"js":   "text/javascript; charset=utf-8",
	"svg":  "image/svg+xml",
}

func load(name string) (file, error) {
	body, err := files.ReadFile("page/" + name)
	if err != nil {
		return file{}, fmt.Errorf("read the console's %s: %w", name, err)
	}
	_, extension, _ := strings.Cut(name, ".")
	contentType, ok := contentTypes[extension]
	if !ok {
		return file{}, fmt.Errorf("the console's %s is of an unknown type", name)
	}
	sum := sha256.Sum256(body)
	return file{contentType, `"` + hex.EncodeToString(sum[:12]) + `"`, body}, nil
}

// policyFor returns the Content-Security-Policy of the page: it runs its own
// scripts only, and speaks to this server and the places only. Trusted types
// forbid every way in which JavaScript can turn text into markup or code, so
// that a hostile file name stays a name even where the page has a fault.
func policyFor(places []string) (string, error) {
	sources := []string{"'self'"}
	for _, place := range places {
		if place == "" {
			continue
		}
		u, err := url.Parse(place)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(u.Host, " ;,'*") {
			return "", fmt.Errorf("the console cannot allow %q: it is no address of a web server", place)
		}
		if origin := u.Scheme + "://" + u.Host; !slices.Contains(sources, origin) {
			sources = append(sources, origin)
		}
	}
	from := strings.Join(sources, " ")
	return "default-src 'none'; script-src 'self'; style-src 'self'; " +
		"connect-src " + from + "; media-src " + from + "; img-src " + from + "; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'", nil
}

func (c *console) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if _, ok := c.files[name]; !ok || name == start {
		problem.Write(w, r, problem.NotFound())
		return
	}
	c.serve(w, r, name)
}

// serve sends a file. Browsers ask each time whether theirs is still the right
// one: after an upgrade, old scripts must not meet a new page.
func (c *console) serve(w http.ResponseWriter, r *http.Request, name string) {
	f, h := c.files[name], w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Security-Policy", c.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.body))
}
