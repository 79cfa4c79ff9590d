package janitor_test

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// A copy that PostgreSQL has made takes itself for the original.
func TestACopiedDatabaseIsNoticed(t *testing.T) {
	t.Parallel()
	b, address := servicetest.New(t), pgtest.Fresh(t)
	// start does what a start of the service does with the marker.
	start := func(address string) (moved bool) {
		t.Helper()
		st, err := store.OpenPostgres(t.Context(), address)
		b.Must(err)
		defer st.Close()
		m := janitor.NewMarker(st, b.Blobs)
		moved, err = m.Moved(t.Context())
		b.Must(err)
		b.Must(m.Write(t.Context()))
		return moved
	}
	for range 2 {
		if start(address) {
			t.Error("a database that stays where it is has moved")
		}
	}
	at, err := url.Parse(address)
	b.Must(err)
	original := strings.TrimPrefix(at.Path, "/")
	pgtest.Exec(t, pgtest.Fresh(t), `CREATE DATABASE "copy_of_`+original+`" TEMPLATE "`+original+`"`)
	at.Path = "/copy_of_" + original
	if !start(at.String()) {
		t.Error("a copy is not noticed")
	}
	if start(at.String()) {
		t.Error("a move is told twice")
	}
	if !start(address) {
		t.Error("beside its copy, the original is not warned")
	}
	if keys := b.Objects(); len(keys) != 1 {
		t.Errorf("objects = %v; want one marker", keys)
	}
	if err := b.Marker.Write(t.Context()); err != nil { // SQLite
		t.Error(err)
	}
	if moved, err := b.Marker.Moved(t.Context()); err != nil || moved {
		t.Errorf("SQLite has moved: %t, %v", moved, err)
	}
}

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
