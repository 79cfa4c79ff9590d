package blob_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
)

func filled(t *testing.T, keys ...string) blob.Store {
	t.Helper()
	s, err := disk.Open(t.TempDir(), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, key := range keys {
		if _, err := s.Put(t.Context(), key, strings.NewReader(key)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func keysOf(t *testing.T, s blob.Store) []string {
	t.Helper()
	var keys []string
	for info, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return slices.Sorted(slices.Values(keys))
}

func TestDeletePrefix(t *testing.T) {
	t.Parallel()
	all := []string{"a/1/x", "a/1/y", "a/10/x", "b/1"}
	tests := []struct {
		name, prefix string
		left         []string
	}{
		{"a folder", "a/1/", []string{"a/10/x", "b/1"}},
		{"a part of a name", "a/1", []string{"b/1"}},
		{"everything", "", nil},
		{"nothing", "c/", all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := filled(t, all...)
			n, err := blob.DeletePrefix(t.Context(), s, tt.prefix)
			if want := len(all) - len(tt.left); err != nil || n != want {
				t.Errorf("DeletePrefix(%q) = %d, %v; want %d removed", tt.prefix, n, err, want)
			}
			if left := keysOf(t, s); !slices.Equal(left, tt.left) {
				t.Errorf("%q are left; want %q", left, tt.left)
			}
		})
	}
}

func TestDeletePrefixThatCannotListRemovesNothing(t *testing.T) {
	t.Parallel()
	s := filled(t, "a/1", "a/2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := blob.DeletePrefix(ctx, s, "a/"); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("DeletePrefix = %d, %v; want context.Canceled and nothing removed", n, err)
	}
	if left := keysOf(t, s); len(left) != 2 {
		t.Errorf("%q are left; want both", left)
	}
}
