package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/video"
)

// Beside a database that is not theirs, all objects are left-overs. A forgotten
// setting must not cost a film.
func TestFilmsOfAnotherDatabaseAreNotSwept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.Claim(t.Context()))
	source := b.video(b.processing(video.Draft{}).ID).Source.Key

	other := newBenchOn(t, func(*disk.Store) blob.Store { return b.blobs })
	other.must(other.Claim(t.Context()))
	b.must(b.Claim(t.Context())) // at the next start
	for name, one := range map[string]*bench{"the first database": b, "the other one": other} {
		if _, err := one.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "another database") {
			t.Errorf("%s sweeps: %v; want it to leave all alone", name, err)
		}
	}
	keys := b.keys()
	if len(keys) != 3 || !slices.Contains(keys, source) {
		t.Fatalf("objects = %v; want the source and two marks", keys)
	}

	id, err := other.store.Identity(t.Context(), "")
	b.must(err)
	b.must(b.blobs.Delete(t.Context(), "owner/"+id))
	if _, err := b.Sweep(t.Context()); err != nil {
		t.Errorf("the first database, alone again, does not sweep: %v", err)
	}
	if _, err := other.Sweep(t.Context()); err == nil {
		t.Error("a database without a mark sweeps another one's films")
	}
}
