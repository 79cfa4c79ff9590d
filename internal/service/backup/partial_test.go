package backup

import (
	"os"
	"path/filepath"
	"testing"
)

// A backup that ends between another one's opening and locking has given the file its name.
func TestACompletedFileIsNotLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "backup.tar")
	f, err := os.OpenFile(partialOf(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(partialOf(path), path); err != nil {
		t.Fatal(err)
	}
	if mine, err := lockPartial(f); err != nil || mine {
		t.Errorf("the completed file: %t, %v; want that it is another one's", mine, err)
	}
	g, err := openPartial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := openPartial(path); err == nil {
		t.Error("two backups write to the same file")
	}
}
