package blobtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

var putFileCases = []testCase{
	{"PutFile stores the file and takes it over", putFileStores},
	{"PutFile replaces the whole object", putFileReplaces},
	{"PutFile of a missing file changes nothing", putFileMissing},
	{"PutFile that is cancelled leaves the file where it is", putFileCancelled},
	{"PutFile of a folder or a link is refused", putFileIrregular},
}

var fetchCases = []testCase{
	{"Fetch makes the object a local file", fetchMakesFile},
	{"Fetch of the version asked for succeeds", fetchVersion},
	{"Fetch of an older version is ErrChanged", fetchChanged},
	{"Fetch of a missing object is fs.ErrNotExist", fetchMissing},
	{"Fetch never overwrites a file", fetchNeverOverwrites},
	{"Fetch into a missing folder does not call the object missing", fetchNoFolder},
	{"fetched files outlive their object", fetchedOutlive},
	{"FetchParts delivers the ranges in a file of the object's size", fetchParts},
	{"FetchParts of a missing object is fs.ErrNotExist", fetchPartsMissing},
}

// localFile makes a local file with content.
func localFile(t *testing.T, content string) string {
	t.Helper()
	path := scratch(t)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantFile fails the test unless the local file path holds want.
func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the local file reads %s, %v; want %s", abridge(string(got)), err, abridge(want))
	}
}

func wantNoFile(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the local file is there (%v); want none", err)
	}
}

func putFileStores(t *testing.T, s blob.Store) {
	for _, content := range []string{"", "x", noise(1, 300_000)} {
		path := localFile(t, content)
		info, err := s.PutFile(t.Context(), "video/720p.mp4", path)
		if err != nil {
			t.Fatalf("PutFile = %v", err)
		}
		wantStat(t, s, info, "video/720p.mp4", int64(len(content)))
		wantContent(t, s, "video/720p.mp4", content)
		wantNoFile(t, path)
	}
}

func putFileReplaces(t *testing.T, s blob.Store) {
	before := put(t, s, "key", "the old one, which is longer")
	info, err := s.PutFile(t.Context(), "key", localFile(t, "the new one"))
	if err != nil || info.ETag == before.ETag {
		t.Errorf("PutFile = %+v, %v; want an ETag other than %s", info, err, before.ETag)
	}
	wantContent(t, s, "key", "the new one")
}

func putFileMissing(t *testing.T, s blob.Store) {
	put(t, s, "old", "still here")
	for _, key := range []string{"old", "folder/new"} {
		if _, err := s.PutFile(t.Context(), key, scratch(t)); err == nil {
			t.Errorf("PutFile(%q) of a missing file succeeded", key)
		}
	}
	wantContent(t, s, "old", "still here")
	wantMissing(t, s, "folder/new")
}

func putFileCancelled(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := localFile(t, "still here")
	if _, err := s.PutFile(ctx, "key", path); !errors.Is(err, context.Canceled) {
		t.Errorf("PutFile = %v; want context.Canceled", err)
	}
	wantMissing(t, s, "key")
	wantFile(t, path, "still here")
}

func putFileIrregular(t *testing.T, s blob.Store) {
	target := localFile(t, "somebody else's")
	link := scratch(t)
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"folder": t.TempDir(), "link": link} {
		if _, err := s.PutFile(t.Context(), name, path); err == nil {
			t.Errorf("PutFile of a %s succeeded", name)
		}
		wantMissing(t, s, name)
	}
	wantFile(t, target, "somebody else's")
}

func fetchMakesFile(t *testing.T, s blob.Store) {
	for _, content := range []string{"", "x", noise(2, 300_000)} {
		put(t, s, "video/source", content)
		path := scratch(t)
		if err := s.Fetch(t.Context(), "video/source", "", path); err != nil {
			t.Fatalf("Fetch = %v", err)
		}
		wantFile(t, path, content)
		wantContent(t, s, "video/source", content)
	}
}

func fetchVersion(t *testing.T, s blob.Store) {
	info := put(t, s, "key", "verified")
	path := scratch(t)
	if err := s.Fetch(t.Context(), "key", info.ETag, path); err != nil {
		t.Fatalf("Fetch = %v", err)
	}
	wantFile(t, path, "verified")
}

func fetchChanged(t *testing.T, s blob.Store) {
	old := put(t, s, "key", "verified")
	put(t, s, "key", "replaced")
	path := scratch(t)
	if err := s.Fetch(t.Context(), "key", old.ETag, path); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("Fetch of an older version = %v; want ErrChanged", err)
	}
	wantNoFile(t, path)
}

func fetchMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	for _, key := range []string{"none", "folder/none", "folder"} {
		for _, etag := range []string{"", "0123"} {
			path := scratch(t)
			if err := s.Fetch(t.Context(), key, etag, path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Fetch(%q, etag %q) = %v; want fs.ErrNotExist", key, etag, err)
			}
			wantNoFile(t, path)
		}
	}
}

func fetchNeverOverwrites(t *testing.T, s blob.Store) {
	put(t, s, "key", "the object")
	path := localFile(t, "the file")
	if err := s.Fetch(t.Context(), "key", "", path); err == nil {
		t.Error("Fetch to a file that exists succeeded")
	}
	wantFile(t, path, "the file")
}

func fetchNoFolder(t *testing.T, s blob.Store) {
	put(t, s, "key", "the object")
	if err := s.Fetch(t.Context(), "key", "", scratch(t)+"/no/such/folder"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Fetch = %v; want an error that is not fs.ErrNotExist", err)
	}
}

func fetchedOutlive(t *testing.T, s blob.Store) {
	put(t, s, "key", "as it was fetched")
	path := scratch(t)
	if err := s.Fetch(t.Context(), "key", "", path); err != nil {
		t.Fatalf("Fetch = %v", err)
	}
	put(t, s, "key", "something else")
	wantFile(t, path, "as it was fetched")
	if err := s.Delete(t.Context(), "key"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	wantFile(t, path, "as it was fetched")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func fetchParts(t *testing.T, s blob.Store) {
	content := noise(3, 100_000)
	want := put(t, s, "key", content)
	for name, ranges := range map[string][]blob.Range{
		"two ranges":      {{From: 0, To: 1000}, {From: 70_000, To: 80_000}},
		"beyond the end":  {{From: 99_990, To: 200_000}, {From: 300_000, To: 400_000}},
		"everything":      {{From: 0, To: 100_000}},
		"no range at all": nil,
	} {
		path := scratch(t)
		info, sparse, err := s.FetchParts(t.Context(), "key", path, ranges)
		if err != nil || info.Key != "key" || info.ETag != want.ETag || info.Size != want.Size {
			t.Fatalf("%s: FetchParts = %+v, %v; want %+v", name, info, err, want)
		}
		got, err := os.ReadFile(path)
		if err != nil || len(got) != len(content) {
			t.Fatalf("%s: the file has %d bytes, %v; want %d", name, len(got), err, len(content))
		}
		for _, r := range ranges {
			from, to := min(r.From, want.Size), min(r.To, want.Size)
			if string(got[from:to]) != content[from:to] {
				t.Errorf("%s: the bytes from %d to %d differ from the object", name, from, to)
			}
		}
		if !sparse && string(got) != content {
			t.Errorf("%s: the file is not called sparse, but differs from the object", name)
		}
	}
}

func fetchPartsMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	for _, key := range absent {
		path := scratch(t)
		if _, _, err := s.FetchParts(t.Context(), key, path, []blob.Range{{From: 0, To: 1}}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("FetchParts(%q) = %v; want fs.ErrNotExist", key, err)
		}
		wantNoFile(t, path)
	}
}
