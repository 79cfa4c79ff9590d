package handbook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/web/assets"
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

// file is a page, or what pages read.
type file struct {
	contentType string
	etag        string
	body        []byte
	gzipped     func() []byte
}

func newFile(contentType string, body []byte) file {
	sum := sha256.Sum256(body)
	return file{contentType, hex.EncodeToString(sum[:12]), body, assets.Compressed(body)}
}

// serve sends a page.
func (s *Site) serve(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := s.pages[name]
	if !ok {
		problem.Write(w, r, problem.NotFound())
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `"`+f.etag+`"`)
	body := f.body
	if assets.AcceptsGzip(r.Header.Get("Accept-Encoding")) && r.Header.Get("Range") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Set("ETag", `"`+f.etag+`-gzip"`)
		body = f.gzipped()
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
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
		if err := os.WriteFile(filepath.Join(folder, name), f.body, 0o644); err != nil {
			return err
		}
	}
	return s.files.WriteTo(files)
}
