// Package assets serves the files of pages from memory: scripts and style sheets, under a path that
// changes with their content, so that browsers keep them for ever and never mix two versions.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spool-video/spool/internal/web/problem"
)

// Files are files that pages load.
type Files struct {
	folder  string
	version string
	files   map[string]file
}

type file struct {
	contentType string
	body        []byte
	gzipped     func() []byte
}

// contentTypes maps extensions to media types.
var contentTypes = map[string]string{
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".json":  "application/json",
	".webp":  "image/webp",
	".woff2": "font/woff2",
}

// design has the style sheet and the fonts that all pages share.
//
//go:embed design/*.css design/*.woff2
var design embed.FS

// Design returns the style sheet and the fonts that all pages share.
func Design() fs.FS {
	files, err := fs.Sub(design, "design")
	if err != nil {
		panic(err) // the name of the folder is a valid one
	}
	return files
}

// Load prepares all files in some file systems, whatever folders they are in, to be served below a folder
// such as "player". Those that end with .gz are compressed already.
func Load(folder string, sources ...fs.FS) (*Files, error) {
	f := &Files{folder: folder, files: map[string]file{}}
	for _, from := range sources {
		err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return f.add(from, name)
		})
		if err != nil {
			return nil, fmt.Errorf("load the files of %s: %w", folder, err)
		}
	}
	f.version = f.hash()
	return f, nil
}

// WriteTo writes the files into a folder.
func (f *Files) WriteTo(folder string) error {
	for name, one := range f.files {
		if err := os.WriteFile(filepath.Join(folder, name), one.body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *Files) add(from fs.FS, name string) error {
	body, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	var one file
	if short, compressed := strings.CutSuffix(name, ".gz"); compressed {
		name, one.gzipped = short, func() []byte { return body }
		one.body, err = expand(body)
	} else {
		one.body, one.gzipped = body, Compressed(body)
	}
	if err != nil {
		return err
	}
	var known bool
	if one.contentType, known = contentTypes[path.Ext(name)]; !known {
		return fmt.Errorf("%s is of an unknown type", name)
	}
	if _, twice := f.files[path.Base(name)]; twice {
		return fmt.Errorf("there are two files called %s", path.Base(name))
	}
	f.files[path.Base(name)] = one
	return nil
}

func expand(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Compressed returns a function for body as gzip. It is compressed at the first request: all files together
// would be a fifth of what a start of the server costs.
func Compressed(body []byte) func() []byte {
	return sync.OnceValue(func() []byte {
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(body)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			panic(err) // the level is a valid one, and a buffer takes everything
		}
		return out.Bytes()
	})
}

// hash names the content of all files together: scripts import each other.
func (f *Files) hash() string {
	names := make([]string, 0, len(f.files))
	for name := range f.files {
		names = append(names, name)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		fmt.Fprintf(all, "%s %d\n", name, len(f.files[name].body))
		all.Write(f.files[name].body)
	}
	return hex.EncodeToString(all.Sum(nil)[:8])
}

// Version names the content of all files.
func (f *Files) Version() string { return f.version }

// Path returns the path of a file, without a slash at its beginning.
func (f *Files) Path(name string) string { return f.folder + "/" + f.version + "/" + name }

// Register adds the files to mux.
func (f *Files) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /"+f.folder+"/{version}/{file}", f.ServeHTTP)
}

func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := f.files[r.PathValue("file")]
	if !ok || r.PathValue("version") != f.version {
		problem.Write(w, r, problem.NotFound())
		return
	}
	h, body := w.Header(), one.body
	SetHeaders(h, one.contentType, "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = one.gzipped()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails if the client has disconnected
	}
}

// SetHeaders describes a file of a page. Pages of other origins may load it: a server may have
// several names.
func SetHeaders(h http.Header, contentType, cache string) {
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", cache)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Allow-Origin", "*")
}

// AcceptsGzip reports whether an Accept-Encoding header names gzip and does not refuse it.
func AcceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return weight == "" || strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != ""
		}
	}
	return false
}
