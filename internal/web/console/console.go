// Package console serves the page at /, where users upload, watch and delete videos
// in a browser. The page is plain HTML, CSS and JavaScript without a framework or a
// build step: browsers load the files in the folder page as they are.
//
// The page is an API client like any other. It has no routes or rights of its own, and
// offers what the scopes allow (GET /api/key). The key that the user enters is kept in the
// tab's sessionStorage, which new tabs ask the others for, or in localStorage if the user
// wants that (key.js). It is sent as a header. People who sign in have a cookie instead,
// which no script can read and which the API takes from this page only.
//
// File names and metadata are hostile input. The page inserts them as text only
// (dom.js). If that is ever forgotten, the Content-Security-Policy still stops them:
// scripts and styles come from this server only, and trusted types make the browser
// refuse to parse text as markup. Only the player, a module of its own that is loaded when
// a video is opened, may have a policy, for its own constant markup.
//
// The library polls its first page and the others in turn, so that what others do appears
// by itself (list.js); an open video follows its event stream and falls back to polling
// (follow.js). What the page of a video shows, in which tab, is listed in one place (panels.js).
// Filter, search and tab are in the fragment of the URL, so the back button and links work
// (app.js, tabs.js). A create or complete request without a response is repeated with the same
// Idempotency-Key (transfer.js); the key survives a reload, so that a file which is chosen
// again continues its upload (saved.js). Large files use resumable uploads (resumable.js).
package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/assets"
	"github.com/spool-video/spool/internal/web/problem"
)

// embedded is the page and what it loads.
//
//go:embed page
var embedded embed.FS

// index is the page itself. It is served at / only, so that it has one URL.
const index = "index.html"

// resolutions is a generated module with the names of all resolutions.
const resolutions = "resolutions.js"

// Config holds the settings.
type Config struct {
	// Origins are URLs, beside the page's own, which files are uploaded to and
	// played from: the base URL, if one is set, and the storage, if it serves clients
	// directly. Only their origins matter; empty ones are ignored.
	Origins []string
}

// console serves files from memory.
type console struct {
	policy string
	files  map[string]assets.Document
}

// Register adds the page to mux.
func Register(mux *http.ServeMux, config Config) error {
	policy, err := policyFor(config.Origins)
	if err != nil {
		return err
	}
	pages, err := loadFiles()
	if err != nil {
		return err
	}
	c := &console{policy: policy, files: pages}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, index) })
	mux.HandleFunc("GET /console/{file}", c.serveFile)
	return nil
}

// loadFiles returns all files by name.
func loadFiles() (map[string]assets.Document, error) {
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	files := map[string]assets.Document{}
	for _, from := range []fs.FS{page, assets.Design()} {
		entries, err := fs.ReadDir(from, ".")
		if err != nil {
			return nil, fmt.Errorf("read the console's files: %w", err)
		}
		for _, e := range entries {
			body, err := fs.ReadFile(from, e.Name())
			if err != nil {
				return nil, fmt.Errorf("read the console's %s: %w", e.Name(), err)
			}
			if files[e.Name()], err = newFile(e.Name(), body); err != nil {
				return nil, err
			}
		}
	}
	body, err := resolutionsScript()
	if err != nil {
		return nil, fmt.Errorf("write the console's %s: %w", resolutions, err)
	}
	files[resolutions], err = newFile(resolutions, body)
	return files, err
}

// resolutionsScript returns a module with the names of all resolutions and their sizes.
func resolutionsScript() ([]byte, error) {
	sides := make(map[video.Name]int, len(video.Names))
	for _, name := range video.Names {
		sides[name] = name.ShortSide()
	}
	names, err := json.Marshal(video.Names)
	if err != nil {
		return nil, err
	}
	sizes, err := json.Marshal(sides)
	return fmt.Appendf(nil, "export const resolutions = %s;\nexport const shortSides = %s;\n", names, sizes), err
}

func newFile(name string, body []byte) (assets.Document, error) {
	contentType := assets.TypeOf(name)
	if contentType == "" {
		return assets.Document{}, fmt.Errorf("the console's %s is of an unknown type", name)
	}
	return assets.NewDocument(contentType, body), nil
}

// policyFor returns the Content-Security-Policy of the page. The page runs only its
// own scripts and connects only to this server and the given origins. Trusted types
// disable every way in which JavaScript can turn text into markup or code, so that a
// hostile file name stays text even if the page has a bug.
func policyFor(urls []string) (string, error) {
	allowed, err := assets.Sources(urls)
	if err != nil {
		return "", fmt.Errorf("the console cannot allow %w", err)
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
		"connect-src " + allowed + "; media-src " + allowed + " blob: data:; img-src " + allowed + "; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types spool-player", nil
}

func (c *console) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if _, ok := c.files[name]; !ok || name == index {
		problem.Write(w, r, problem.NotFound())
		return
	}
	c.serve(w, r, name)
}

// serve sends a file. Browsers revalidate every file on each load: after an upgrade,
// old scripts must not run in a new page.
func (c *console) serve(w http.ResponseWriter, r *http.Request, name string) {
	h := w.Header()
	h.Set("Content-Security-Policy", c.policy)
	h.Set("Referrer-Policy", "strict-origin") // files of videos for some sites are sent to pages that say where they are
	c.files[name].Serve(w, r, name)
}
