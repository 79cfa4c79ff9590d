package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestDocsPageNeedsNoKeyAndNoOtherServer(t *testing.T) {
	t.Parallel()
	h := newRig(t, Config{}).handler
	w := do(h, httptest.NewRequest("GET", "/docs", nil))
	page := w.Body.String()
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("answer is %d, %v", w.Code, w.Header())
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "script-src 'self';") {
		t.Errorf("Content-Security-Policy is %q", csp)
	}
	const handbook = `<a href="https://github.com/spool-video/spool/tree/main/docs#readme">`
	if !strings.Contains(page, handbook) || !strings.Contains(page, `<a href="./">Console</a>`) || !strings.Contains(page, `<link rel="icon" href="console/icon.svg"`) {
		t.Errorf("the page leads neither back nor on, or asks for the icon of nobody:\n%s", page)
	}
	page = strings.ReplaceAll(page, handbook, "") // a link, which loads nothing
	if regexp.MustCompile(`<script>|<style|\son[a-z]+=|https?:|//`).MatchString(page) {
		t.Errorf("the page has inline code or a foreign URL:\n%s", page)
	}
	links := regexp.MustCompile(`(?:src|href)="(docs/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 4 {
		t.Fatalf("the page has %d links, want 4", len(links))
	}
	for _, l := range links {
		if w := do(h, httptest.NewRequest("GET", "/"+l[1], nil)); w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s answers %d with %d bytes", l[1], w.Code, w.Body.Len())
		}
	}
	w = do(h, httptest.NewRequest("GET", "/docs/init.js", nil))
	if !strings.Contains(w.Body.String(), "validatorUrl: null") || !strings.Contains(w.Body.String(), `"openapi.json"`) {
		t.Errorf("init.js is %s", w.Body)
	}
}

func TestDocsFilesCompressed(t *testing.T) {
	t.Parallel()
	h := newRig(t, Config{}).handler
	get := func(accept string) (*httptest.ResponseRecorder, []byte) {
		r := httptest.NewRequest("GET", "/docs/swagger-ui-bundle.js", nil)
		r.Header.Set("Accept-Encoding", accept)
		w := do(h, r)
		return w, w.Body.Bytes()
	}
	w, zipped := get("br, gzip;q=0.8")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("headers are %v", w.Header())
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	w, plain := get("br")
	if w.Header().Get("Content-Encoding") != "" || !bytes.Equal(plain, want) {
		t.Errorf("the encoding is %q with %d bytes, want %d plain", w.Header().Get("Content-Encoding"), len(plain), len(want))
	}
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "br": false, "gzip;q=0": false, "gzip; q=0.000": false, "gzip": true, "br, GZIP;q=0.8": true, "*": true,
	} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("acceptsGzip(%q) = %t", header, got)
		}
	}
}
