package assets

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, f *Files, method, path, encoding string) *http.Response {
	t.Helper()
	mux := http.NewServeMux()
	f.Register(mux)
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w.Result()
}

func load(t *testing.T, files fstest.MapFS) *Files {
	t.Helper()
	f, err := Load("things", files)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFilesAreServedToEveryClient(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("export const a = 1;\n", 50)
	f := load(t, fstest.MapFS{"plain/a.js": {Data: []byte(text)}, "packed/b.js.gz": {Data: gzipped(t, text)}, "c.css": {Data: []byte("p{}")}})
	for _, name := range []string{"a.js", "b.js"} {
		for _, encoding := range []string{"", "br, gzip", "gzip;q=0"} {
			res := get(t, f, "GET", "/"+f.Path(name), encoding)
			var body io.Reader = res.Body
			if res.Header.Get("Content-Encoding") == "gzip" {
				if encoding != "br, gzip" {
					t.Errorf("%s is compressed for a client that sends %q", name, encoding)
				}
				var err error
				if body, err = gzip.NewReader(res.Body); err != nil {
					t.Fatal(err)
				}
			}
			got, err := io.ReadAll(body)
			if err != nil || string(got) != text || res.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
				t.Errorf("%s with %q is %d %v: %q %v", name, encoding, res.StatusCode, res.Header, got, err)
			}
			if cache := res.Header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
				t.Errorf("%s is cached as %q", name, cache)
			}
		}
	}
	if res := get(t, f, "HEAD", "/"+f.Path("c.css"), ""); res.StatusCode != 200 || res.ContentLength != 3 {
		t.Errorf("HEAD of a style sheet is %d with %d bytes", res.StatusCode, res.ContentLength)
	}
}

func TestAPathNamesOneContent(t *testing.T) {
	t.Parallel()
	one := load(t, fstest.MapFS{"a.js": {Data: []byte("1")}, "b.js": {Data: []byte("2")}})
	other := load(t, fstest.MapFS{"a.js": {Data: []byte("1")}, "b.js": {Data: []byte("3")}})
	if one.Path("a.js") == other.Path("a.js") {
		t.Error("a file that imports a changed one has the same path")
	}
	for _, path := range []string{"/" + other.Path("a.js"), "/" + one.Path("c.js"), "/things/" + one.Version() + "/.."} {
		if res := get(t, one, "GET", path, ""); res.StatusCode == 200 {
			t.Errorf("GET %s is answered", path)
		}
	}
}

func TestFilesThatCannotBeServedAreRefused(t *testing.T) {
	t.Parallel()
	for _, files := range []fstest.MapFS{
		{"a.exe": {Data: []byte("1")}},
		{"a.js.gz": {Data: []byte("not compressed")}},
		{"x/a.js": {Data: []byte("1")}, "y/a.js": {Data: []byte("2")}},
	} {
		if _, err := Load("things", files); err == nil {
			t.Errorf("%v is served", files)
		}
	}
}
