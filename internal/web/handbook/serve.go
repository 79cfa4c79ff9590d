package handbook

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/spool-video/spool/internal/web/problem"
)

// policy restricts the pages to their own scripts and this server, which the reference may send requests to. The first
// page names the folder of the others as the base of its links.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'self'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Register adds the handbook to mux. It is made at the first request.
func Register(mux *http.ServeMux) {
	load := sync.OnceValues(func() (*Site, error) { return Load(Served) })
	page := func(w http.ResponseWriter, r *http.Request, name string) {
		site, err := load()
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		site.serve(w, r, name)
	}
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) { page(w, r, Index) })
	mux.HandleFunc("GET /docs/{page}", func(w http.ResponseWriter, r *http.Request) { page(w, r, r.PathValue("page")) })
	mux.HandleFunc("GET /docs/{version}/{file}", func(w http.ResponseWriter, r *http.Request) {
		site, err := load()
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		site.files.ServeHTTP(w, r)
	})
}

// serve sends a page.
func (s *Site) serve(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := s.pages[name]
	if !ok {
		problem.Write(w, r, problem.NotFound())
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	f.Serve(w, r, name)
}

// WriteTo writes the handbook as static files into a folder, which is made.
func (s *Site) WriteTo(folder string) error {
	files := filepath.Join(folder, s.files.Version())
	if err := os.MkdirAll(files, 0o755); err != nil {
		return err
	}
	for name, f := range s.pages {
		if name != searchFile {
			name += ".html"
		}
		if err := os.WriteFile(filepath.Join(folder, name), f.Body, 0o644); err != nil {
			return err
		}
	}
	return s.files.WriteTo(files)
}
