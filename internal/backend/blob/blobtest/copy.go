package blobtest

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

var copyCases = []testCase{
	{"Copy stores the object under a second key", copyStores},
	{"Copy replaces the object at its target", copyReplaces},
	{"Copy of the version asked for succeeds", copyVersion},
	{"Copy of an older version is ErrChanged and copies nothing", copyChanged},
	{"Copy of a missing object is fs.ErrNotExist", copyMissing},
	{"a copy stays when its source is overwritten or deleted", copyStays},
	{"a source stays when its copy is overwritten or deleted", sourceStays},
	{"Copy twice is the same as once", copyTwice},
	{"Copy of an object to itself keeps it", copyToItself},
}

func copyObject(t *testing.T, s blob.Store, from, to, etag string) blob.Info {
	t.Helper()
	info, err := s.Copy(t.Context(), from, to, etag)
	if err != nil {
		t.Fatalf("Copy(%q, %q) = %v", from, to, err)
	}
	return info
}

func copyStores(t *testing.T, s blob.Store) {
	for _, content := range []string{"", "x", noise(1, 300_000)} {
		put(t, s, "upload/file", content)
		info := copyObject(t, s, "upload/file", "kept/here/source", "")
		wantStat(t, s, info, "kept/here/source", int64(len(content)))
		wantContent(t, s, "upload/file", content)
		wantContent(t, s, "kept/here/source", content)
	}
}

func copyReplaces(t *testing.T, s blob.Store) {
	put(t, s, "from", "the new one")
	before := put(t, s, "to", "the old one, which is longer")
	if info := copyObject(t, s, "from", "to", ""); info.ETag == before.ETag {
		t.Errorf("the target's ETag stayed %s", info.ETag)
	}
	wantContent(t, s, "to", "the new one")
}

func copyVersion(t *testing.T, s blob.Store) {
	info := put(t, s, "from", "verified")
	copyObject(t, s, "from", "to", info.ETag)
	wantContent(t, s, "to", "verified")
}

func copyChanged(t *testing.T, s blob.Store) {
	old := put(t, s, "from", "verified")
	put(t, s, "from", "replaced")
	put(t, s, "there", "untouched")
	for _, to := range []string{"there", "folder/none"} {
		if _, err := s.Copy(t.Context(), "from", to, old.ETag); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("Copy of an older version to %q = %v; want ErrChanged", to, err)
		}
	}
	wantContent(t, s, "there", "untouched")
	wantMissing(t, s, "folder/none")
}

func copyMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	put(t, s, "there", "untouched")
	for _, from := range absent {
		for _, etag := range []string{"", "0123"} {
			if _, err := s.Copy(t.Context(), from, "there", etag); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Copy(%q, etag %q) = %v; want fs.ErrNotExist", from, etag, err)
			}
		}
	}
	wantContent(t, s, "there", "untouched")
}

func copyStays(t *testing.T, s blob.Store) {
	put(t, s, "from", "as it was")
	before := copyObject(t, s, "from", "to", "")
	put(t, s, "from", "overwritten")
	wantContent(t, s, "to", "as it was")
	if err := s.Delete(t.Context(), "from"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	wantContent(t, s, "to", "as it was")
	if after := stat(t, s, "to"); after.ETag != before.ETag {
		t.Errorf("the copy's ETag went from %s to %s when its source changed", before.ETag, after.ETag)
	}
}

func sourceStays(t *testing.T, s blob.Store) {
	before := put(t, s, "from", "as it was")
	copyObject(t, s, "from", "to", "")
	put(t, s, "to", "overwritten")
	wantContent(t, s, "from", "as it was")
	if err := s.Delete(t.Context(), "to"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	wantContent(t, s, "from", "as it was")
	if after := stat(t, s, "from"); after.ETag != before.ETag {
		t.Errorf("the source's ETag went from %s to %s when its copy changed", before.ETag, after.ETag)
	}
}

func copyTwice(t *testing.T, s blob.Store) {
	info := put(t, s, "from", "once")
	for range 3 {
		copyObject(t, s, "from", "to", info.ETag)
	}
	wantContent(t, s, "from", "once")
	wantContent(t, s, "to", "once")
	if got := list(t, s, ""); len(got) != 2 {
		t.Errorf("the store holds %q; want from and to", got)
	}
}

// copyToItself allows a store to refuse (S3 does), but not to lose the object.
func copyToItself(t *testing.T, s blob.Store) {
	put(t, s, "key", "precious")
	_, _ = s.Copy(t.Context(), "key", "key", "")
	wantContent(t, s, "key", "precious")
}
