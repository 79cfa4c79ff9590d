package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/blob"
	"github.com/spool-video/spool/internal/blob/disk"
	"github.com/spool-video/spool/internal/video"
)

// Beside a database that is not theirs, all objects are left-overs. A forgotten
// setting must not cost every film.
func TestStorageBelongsToOneDatabase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.Claim(t.Context()))
	v := b.video(b.processing(video.Draft{}).ID)
	for range 2 { // the second try is refused as well
		other := newBenchOn(t, func(*disk.Store) blob.Store { return b.blobs })
		if err := other.Claim(t.Context()); err == nil || !strings.Contains(err.Error(), "another database") {
			t.Errorf("another database claims the storage: %v; want it refused", err)
		}
	}
	b.must(b.Claim(t.Context())) // at the next start
	if _, err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.must(b.Claim(t.Context()))
	if keys := b.keys(); len(keys) != 2 || !slices.Contains(keys, v.Source.Key) {
		t.Errorf("objects = %v; want the source and whose they are", keys)
	}
}
