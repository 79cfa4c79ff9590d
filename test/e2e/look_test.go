package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/rig"
)

// metrics returns the numbers that the server shows, by name and labels.
func (s *server) metrics() map[string]float64 {
	s.t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(string(s.get(s.url + "/metrics").body)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "} ")
		if found {
			name += "}"
		} else {
			name, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil && !strings.HasPrefix(name, "#") {
			all[name] = n
		}
	}
	return all
}

// objects lists the files that the storage holds below a folder of it, however
// they came there, without the one that says whose storage it is.
func (s *server) objects(below string) []string {
	s.t.Helper()
	root := s.objectsDir
	var files []string
	err := filepath.WalkDir(filepath.Join(root, below), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // removed while we look
		}
		if err == nil && !d.IsDir() {
			if name, _ := filepath.Rel(root, path); !strings.HasPrefix(name, "owner/") {
				files = append(files, name)
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatalf("list the objects: %v", err)
	}
	return rig.WithoutAlternates(files)
}

// filesOf lists everything in the storage that belongs to a video.
func (s *server) filesOf(id string) []string {
	s.t.Helper()
	var files []string
	for _, f := range s.objects("") {
		if strings.Contains(f, id) {
			files = append(files, f)
		}
	}
	return files
}

// download saves what an address plays and returns where.
func (s *server) download(url string) string {
	s.t.Helper()
	r := s.get(url)
	if r.status != http.StatusOK {
		s.t.Fatalf("GET %s answers %d %s", url, r.status, r.body)
	}
	return save(s.t, filepath.Base(url), r.body)
}

// save writes a file into a folder of its own.
func save(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("save %s: %v", name, err)
	}
	return path
}

// tokens takes a JSON text apart. Numbers are compared as they were written,
// and the order of keys counts.
func tokens(t testing.TB, text string) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var all []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%q is not JSON: %v", text, err)
		}
		all = append(all, fmt.Sprintf("%T %v", token, token))
	}
}

// keysOf returns the keys of the object in a field of a JSON object, in their
// order.
func keysOf(t testing.TB, body []byte, field string) []string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatalf("decode %s: %v", body, err)
	}
	d := json.NewDecoder(strings.NewReader(string(object[field])))
	if _, err := d.Token(); err != nil { // the opening brace
		t.Fatalf("decode %s of %s: %v", field, body, err)
	}
	var keys []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatalf("decode %s of %s: %v", field, body, err)
		}
		keys = append(keys, fmt.Sprint(key))
		if err := d.Decode(new(json.RawMessage)); err != nil {
			t.Fatalf("decode %s of %s: %v", field, body, err)
		}
	}
	return keys
}
