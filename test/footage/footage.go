// Package footage finds real recordings for tests. They are not part of the
// repository: their folder is named by SPOOL_TEST_MEDIA, and without it tests
// that need real recordings are skipped, in CI too.
package footage

import (
	"os"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that names the folder of the recordings.
const Variable = "SPOOL_TEST_MEDIA"

// Lookup returns the path of a file or folder below the folder of the
// recordings, and false if it does not exist.
func Lookup(elem ...string) (string, bool) {
	root := os.Getenv(Variable)
	if root == "" {
		return "", false
	}
	path, err := filepath.Abs(filepath.Join(append([]string{root}, elem...)...))
	if err != nil {
		return "", false
	}
	_, err = os.Stat(path)
	return path, err == nil
}

// Path returns the path of a file or folder below the folder of the recordings,
// or skips the test. SPOOL_TEST_REQUIRE_ALL does not change that: it is about
// tools, and footage may be absent.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	path, ok := Lookup(elem...)
	if !ok {
		t.Skipf("no real footage %s (set %s to its folder)", filepath.Join(elem...), Variable)
	}
	return path
}
