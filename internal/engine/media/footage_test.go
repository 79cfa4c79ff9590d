package media

import (
	"os"
	"path/filepath"
	"testing"
)

// footage returns the path of a real film that is not part of the repository.
func footage(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("SPOOL_TEST_MEDIA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "media")
	}
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no real footage here (set SPOOL_TEST_MEDIA): %v", err)
	}
	return path
}
