package player

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

func serve(t *testing.T) func(path string) (*http.Response, string) {
	t.Helper()
	files, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	Register(mux, files)
	return func(path string) (*http.Response, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		res := w.Result()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
}

// TestModulesFindEachOther follows the imports from the module whose path never changes.
func TestModulesFindEachOther(t *testing.T) {
	t.Parallel()
	get := serve(t)
	imports := regexp.MustCompile(`(?:from|import|import\() ?"(\./[^"]+)"`)
	seen, next := map[string]bool{}, []string{"/player/player.js"}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		res, body := get(path)
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/javascript") {
			t.Fatalf("GET %s is %d %s", path, res.StatusCode, res.Header)
		}
		if strings.HasSuffix(path, "/hls.js") || strings.HasSuffix(path, "/media-chrome.js") {
			continue
		}
		for _, m := range imports.FindAllStringSubmatch(body, -1) {
			next = append(next, path[:strings.LastIndexByte(path, '/')+1]+strings.TrimPrefix(m[1], "./"))
		}
	}
	if len(seen) != 22 {
		t.Errorf("%d modules were found: %v", len(seen), seen)
	}
}

// TestThirdPartyFilesAreThoseThatAreNoted compares them with the sums in README.md.
func TestThirdPartyFilesAreThoseThatAreNoted(t *testing.T) {
	t.Parallel()
	get := serve(t)
	files, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	notes, err := os.ReadFile("thirdparty/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"media-chrome.js", "hls.js"} {
		_, body := get("/" + files.Path(name))
		sum := sha256.Sum256([]byte(body))
		if hash := hex.EncodeToString(sum[:]); !strings.Contains(string(notes), "| `"+hash+"` |") {
			t.Errorf("README.md does not name %s with %s", name, hash)
		}
		if strings.Contains(body, "eval(") || strings.Contains(body, "new Function") {
			t.Errorf("%s runs text as code", name)
		}
	}
}
