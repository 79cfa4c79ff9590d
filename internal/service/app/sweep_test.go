package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
)

// lockedStore does not remove some objects, as a bucket with a legal hold does.
type lockedStore struct {
	*disk.Store
	locked func(key string) bool
}

func (s lockedStore) Delete(ctx context.Context, keys ...string) error {
	if slices.ContainsFunc(keys, s.locked) {
		return errors.New("the object is locked")
	}
	return s.Store.Delete(ctx, keys...)
}

func TestSweepPassesObjectsThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	const objects = 30
	tests := []struct {
		name    string
		locked  string // what the keys of those begin with
		removed int
	}{
		{"one is locked", "public/00000000-0000-4000-8000-000000000000/", objects - 1},
		{"the storage removes nothing", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBenchOn(t, func(s *disk.Store) blob.Store {
				return lockedStore{s, func(key string) bool { return strings.HasPrefix(key, tt.locked) }}
			})
			for i := range objects {
				_, err := b.blobs.Put(t.Context(), fmt.Sprintf("public/00000000-0000-4000-8000-%012d/144p.mp4", i), strings.NewReader("nobody's"))
				b.must(err)
			}
			r, err := b.Sweep(t.Context())
			if err == nil || r.Removed != tt.removed {
				t.Errorf("the sweep removed %d objects, %v; want %d and an error", r.Removed, err, tt.removed)
			}
			if tt.removed == 0 && r.Objects > objects/2 {
				t.Errorf("the sweep tried %d objects of a storage that removes none", r.Objects)
			}
		})
	}
}
