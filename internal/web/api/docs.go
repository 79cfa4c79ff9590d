package api

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/spool-video/spool/internal/web/problem"
)

// docsFiles is the page that shows the OpenAPI description. It loads nothing from other
// servers, so it works offline.
//
//go:embed docs/index.html docs/init.js docs/page.css docs/swagger-ui.css.gz docs/swagger-ui-bundle.js.gz
var docsFiles embed.FS

// docsPolicy restricts the page to its own scripts and this server. Swagger UI has its
// icons in data URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsTypes lists the files that are served, with their media types.
var docsTypes = map[string]string{
	"index.html":           "text/html; charset=utf-8",
	"init.js":              "text/javascript; charset=utf-8",
	"page.css":             "text/css; charset=utf-8",
	"swagger-ui.css":       "text/css; charset=utf-8",
	"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}

func (a *API) serveSpec(w http.ResponseWriter, r *http.Request) {
	spec, err := a.spec()
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(spec)
}

func serveDocsPage(w http.ResponseWriter, r *http.Request) { serveDocs(w, r, "index.html") }

func serveDocsFile(w http.ResponseWriter, r *http.Request) { serveDocs(w, r, r.PathValue("file")) }

func serveDocs(w http.ResponseWriter, r *http.Request, name string) {
	contentType, ok := docsTypes[name]
	if !ok {
		problem.Write(w, r, problem.NotFound())
		return
	}
	body, gzipped, err := docsFile(name, acceptsGzip(r.Header.Get("Accept-Encoding")))
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", docsPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "max-age=3600")
	h.Add("Vary", "Accept-Encoding")
	if gzipped {
		h.Set("Content-Encoding", "gzip")
	}
	_, _ = w.Write(body)
}

// docsFile returns a file of the page. The large ones are embedded compressed and
// decompressed only for clients that do not accept gzip.
func docsFile(name string, gzipped bool) (body []byte, isGzipped bool, err error) {
	body, err = docsFiles.ReadFile("docs/" + name)
	if !errors.Is(err, fs.ErrNotExist) {
		return body, false, err
	}
	if body, err = docsFiles.ReadFile("docs/" + name + ".gz"); err != nil || gzipped {
		return body, true, err
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, false, fmt.Errorf("decompress %s: %w", name, err)
	}
	if body, err = io.ReadAll(z); err != nil {
		return nil, false, fmt.Errorf("decompress %s: %w", name, err)
	}
	return body, false, nil
}

// acceptsGzip reports whether an Accept-Encoding header allows gzip.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		weight = strings.ReplaceAll(weight, " ", "")
		return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
	}
	return false
}
