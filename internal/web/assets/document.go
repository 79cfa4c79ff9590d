package assets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

// Document is a page, or a file of which the address stays when it changes. Browsers ask each time whether it has.
type Document struct {
	Body        []byte
	contentType string
	etag        string
	gzipped     func() []byte
}

// NewDocument returns a document of a media type.
func NewDocument(contentType string, body []byte) Document {
	sum := sha256.Sum256(body)
	return Document{body, contentType, hex.EncodeToString(sum[:12]), Compressed(body)}
}

// TypeOf returns the media type of a file by its name; "": it is not known. The table of the operating system differs between
// machines.
func TypeOf(name string) string { return contentTypes[path.Ext(name)] }

// Serve sends the document.
func (d Document) Serve(w http.ResponseWriter, r *http.Request, name string) {
	h, body, etag := w.Header(), d.Body, d.etag
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) && r.Header.Get("Range") == "" {
		h.Set("Content-Encoding", "gzip")
		body, etag = d.gzipped(), etag+"-gzip"
	}
	h.Set("Content-Type", d.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}
