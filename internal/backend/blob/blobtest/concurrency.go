package blobtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

var concurrencyCases = []testCase{
	{"of many writers of one key, one wins whole", writersOfOneKey},
	{"a reader beside writers sees whole objects only", readerBesideWriters},
	{"writes and deletions in one folder do not disturb each other", writeDeleteFolder},
	{"a pinned Copy beside writers copies that version or none", copyBesideWriters},
}

const writers = 16

// together runs work in n goroutines and waits for all.
func together(n int, work func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

// versions returns a whole content for each writer. All have one length, so
// that a mixture of two could not be told by its size.
func versions() (contents []string, known map[string]bool) {
	known = make(map[string]bool)
	for i := range writers {
		c := noise(uint64(i), 200_000)
		contents, known[c] = append(contents, c), true
	}
	return contents, known
}

func writersOfOneKey(t *testing.T, s blob.Store) {
	contents, known := versions()
	together(writers, func(i int) {
		if _, err := s.Put(t.Context(), "folder/key", strings.NewReader(contents[i])); err != nil {
			t.Errorf("Put = %v", err)
		}
	})
	if got := readAll(t, s, "folder/key"); !known[got] {
		t.Errorf("the object is none of those written: %s", abridge(got))
	}
	if got := list(t, s, ""); len(got) != 1 {
		t.Errorf("the store holds %q; want one object", got)
	}
}

func readAll(t *testing.T, s blob.Store, key string) string {
	got, err := tryRead(t, s, key)
	if err != nil {
		t.Errorf("reading %q = %v", key, err)
	}
	return got
}

// tryRead is readAll for an object that may be replaced meanwhile.
func tryRead(t *testing.T, s blob.Store, key string) (string, error) {
	o, err := s.Open(t.Context(), key)
	if err != nil {
		return "", err
	}
	defer o.Close()
	b, err := io.ReadAll(o)
	return string(b), err
}

func readerBesideWriters(t *testing.T, s blob.Store) {
	contents, known := versions()
	put(t, s, "key", contents[0])
	together(writers, func(i int) {
		if i%2 == 0 {
			if _, err := s.Put(t.Context(), "key", strings.NewReader(contents[i])); err != nil {
				t.Errorf("Put = %v", err)
			}
			return
		}
		for range 5 {
			got, err := tryRead(t, s, "key")
			if errors.Is(err, blob.ErrChanged) {
				continue
			}
			if err != nil || !known[got] {
				t.Errorf("a reader saw content that was never written: %s, %v", abridge(got), err)
			}
		}
	})
	if got := readAll(t, s, "key"); !known[got] {
		t.Errorf("after all writers, the object is none of those written: %s", abridge(got))
	}
}

// Two writers share a folder, so that it is often empty, and all share the one
// above it.
func writeDeleteFolder(t *testing.T, s blob.Store) {
	together(writers, func(i int) {
		key := fmt.Sprintf("deep/%d/%d", i/2, i)
		for range 8 {
			if _, err := s.Put(t.Context(), key, strings.NewReader(key)); err != nil {
				t.Errorf("Put(%q) = %v", key, err)
				return
			}
			if got := readAll(t, s, key); got != key {
				t.Errorf("object %q reads %q", key, got)
			}
			if err := s.Delete(t.Context(), key); err != nil {
				t.Errorf("Delete(%q) = %v", key, err)
			}
			if _, err := s.Stat(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Stat(%q) after Delete = %v; want fs.ErrNotExist", key, err)
			}
		}
	})
	if left := list(t, s, ""); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

func copyBesideWriters(t *testing.T, s blob.Store) {
	contents, _ := versions()
	pinned := put(t, s, "from", "verified")
	together(writers, func(i int) {
		if i%2 == 0 {
			if _, err := s.Put(t.Context(), "from", strings.NewReader(contents[i])); err != nil {
				t.Errorf("Put = %v", err)
			}
			return
		}
		to := fmt.Sprintf("to/%d", i)
		switch _, err := s.Copy(t.Context(), "from", to, pinned.ETag); {
		case err == nil:
			if got := readAll(t, s, to); got != "verified" {
				t.Errorf("a pinned copy reads %s", abridge(got))
			}
		case !errors.Is(err, blob.ErrChanged):
			t.Errorf("Copy = %v; want success or ErrChanged", err)
		}
	})
}
