package blobtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

var deleteCases = []testCase{
	{"Delete removes the objects named and no other", deleteRemoves},
	{"Delete of what does not exist succeeds", deleteMissing},
	{"Delete of no keys does nothing", deleteNothing},
	{"Delete takes more keys than one S3 request", deleteMany},
	{"Delete of a folder's name leaves what is in it", deleteFolder},
	{"a deleted key can be written again", deleteThenPut},
}

var listCases = []testCase{
	{"List yields the keys with the prefix", listPrefixes},
	{"List yields what Stat says", listDescribes},
	{"List can be left early and run again", listBreaks},
	{"List ends with an error when its context does", listCancelled},
}

// DeleteTriesAll checks that an object that cannot be removed does not keep Delete from removing
// the others. The object at stuck must be such a one; how to get it depends on the back end.
func DeleteTriesAll(t *testing.T, s blob.Store, stuck string) {
	t.Helper()
	others := []string{"before/1", "before/2", "zz/after"}
	for _, key := range others {
		put(t, s, key, key)
	}
	err := s.Delete(t.Context(), "before/1", "before/2", "missing", stuck, "zz/after")
	if err == nil || !strings.Contains(err.Error(), stuck) || strings.Contains(err.Error(), "before/1") {
		t.Errorf("Delete = %v; want an error that names %s alone", err, stuck)
	}
	for _, key := range others {
		wantMissing(t, s, key)
	}
}

func deleteRemoves(t *testing.T, s blob.Store) {
	for _, key := range []string{"a/1", "a/2", "a/b/3", "c"} {
		put(t, s, key, key)
	}
	if err := s.Delete(t.Context(), "a/1", "a/b/3", "c"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	for _, key := range []string{"a/1", "a/b/3", "c"} {
		wantMissing(t, s, key)
	}
	wantContent(t, s, "a/2", "a/2")
}

func deleteMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	for range 2 {
		if err := s.Delete(t.Context(), "folder/key", "none", "folder/none", "no/such/folder"); err != nil {
			t.Errorf("Delete = %v; want success, however often", err)
		}
	}
	wantMissing(t, s, "folder/key")
}

func deleteNothing(t *testing.T, s blob.Store) {
	put(t, s, "key", "x")
	if err := s.Delete(t.Context()); err != nil {
		t.Errorf("Delete() = %v", err)
	}
	wantContent(t, s, "key", "x")
}

func deleteMany(t *testing.T, s blob.Store) {
	var keys []string
	for i := range 1100 {
		keys = append(keys, fmt.Sprintf("many/%04d", i))
	}
	for _, i := range []int{0, 999, 1000, 1099} {
		put(t, s, keys[i], "x")
	}
	if err := s.Delete(t.Context(), keys...); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	if left := list(t, s, ""); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

func deleteFolder(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	if err := s.Delete(t.Context(), "folder"); err != nil {
		t.Errorf("Delete = %v; want success, for there is no such object", err)
	}
	wantContent(t, s, "folder/key", "x")
}

func deleteThenPut(t *testing.T, s blob.Store) {
	for range 3 {
		put(t, s, "a/b/c", "again")
		wantContent(t, s, "a/b/c", "again")
		if err := s.Delete(t.Context(), "a/b/c"); err != nil {
			t.Fatalf("Delete = %v", err)
		}
		wantMissing(t, s, "a/b/c")
	}
}

func listPrefixes(t *testing.T, s blob.Store) {
	keys := []string{"a/b/1", "a/b/2", "a/bc", "a/bd/e/f", "a-b", "ab/1", "b"}
	if got := list(t, s, ""); len(got) != 0 {
		t.Errorf("List of an empty store yields %q", got)
	}
	for _, key := range keys {
		put(t, s, key, key)
	}
	tests := []struct {
		name, prefix string
		want         []string
	}{
		{"no prefix is everything", "", keys},
		{"a folder", "a/b/", []string{"a/b/1", "a/b/2"}},
		{"a prefix that ends inside a name", "a/b", []string{"a/b/1", "a/b/2", "a/bc", "a/bd/e/f"}},
		{"a prefix that ends inside a folder's name", "a", []string{"a-b", "a/b/1", "a/b/2", "a/bc", "a/bd/e/f", "ab/1"}},
		{"a prefix deep in a folder", "a/bd/e/", []string{"a/bd/e/f"}},
		{"a whole key", "a/bc", []string{"a/bc"}},
		{"a key taken for a folder", "a/bc/", nil},
		{"nothing starts like this", "x/y", nil},
		{"no key can start like this", "a//b", nil},
		{"no way out", "../", nil},
		{"no way to the root", "/", nil},
		{"no way around", "a/../a/b", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := slices.Sorted(slices.Values(tt.want))
			if got := list(t, s, tt.prefix); !slices.Equal(got, want) {
				t.Errorf("List(%q) yields %q; want %q", tt.prefix, got, want)
			}
		})
	}
}

func listDescribes(t *testing.T, s blob.Store) {
	put(t, s, "a/empty", "")
	put(t, s, "a/words", "some words")
	sizes := map[string]int64{"a/empty": 0, "a/words": 10}
	for info, err := range s.List(t.Context(), "a/") {
		if err != nil {
			t.Fatalf("List = %v", err)
		}
		wantStat(t, s, info, info.Key, sizes[info.Key])
		if age := time.Since(info.Modified).Abs(); age > 5*time.Minute {
			t.Errorf("List says that %q was modified %v ago; want about now", info.Key, age)
		}
		delete(sizes, info.Key)
	}
	if len(sizes) != 0 {
		t.Errorf("List did not yield %v", sizes)
	}
}

func listBreaks(t *testing.T, s blob.Store) {
	for i := range 5 {
		put(t, s, fmt.Sprintf("folder%d/key", i), "x")
	}
	seq := s.List(t.Context(), "")
	for range 2 {
		n := 0
		for _, err := range seq {
			if err != nil {
				t.Fatalf("List = %v", err)
			}
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Errorf("List yielded %d objects before the break; want 2", n)
		}
	}
}

func listCancelled(t *testing.T, s blob.Store) {
	put(t, s, "a/1", "x")
	put(t, s, "b/2", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range s.List(ctx, "") {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("List ended with %v; want context.Canceled", last)
	}
}
