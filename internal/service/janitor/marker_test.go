package janitor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// Beside a database that is not theirs, all objects are left-overs. A forgotten
// setting must not cost a rendition.
func TestVideosOfAnotherDatabaseAreNotSwept(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	b.Must(b.Marker.Write(t.Context()))
	source := b.Video(b.Processing(video.Draft{}).ID).Source.Key

	other := servicetest.NewOn(t, func(*disk.Store) blob.Store { return b.Blobs })
	other.Must(other.Marker.Write(t.Context()))
	b.Must(b.Marker.Write(t.Context())) // at the next start
	for name, one := range map[string]*servicetest.Rig{"the first database": b, "the other one": other} {
		if _, err := one.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "another database") {
			t.Errorf("%s sweeps: %v; want it to leave all alone", name, err)
		}
	}
	keys := b.Objects()
	if len(keys) != 3 || !slices.Contains(keys, source) {
		t.Fatalf("objects = %v; want the source and two markers", keys)
	}

	id, err := other.Store.Identity(t.Context(), "")
	b.Must(err)
	b.Must(b.Blobs.Delete(t.Context(), "owner/"+id))
	if _, err := b.Sweep(t.Context()); err != nil {
		t.Errorf("the first database, alone again, does not sweep: %v", err)
	}
	if _, err := other.Sweep(t.Context()); err == nil {
		t.Error("a database without a marker sweeps another one's renditions")
	}
}
