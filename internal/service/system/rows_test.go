package system

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestTheLastCountOfEachAreaIsKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		want := func(want ...Stored) {
			t.Helper()
			got, err := CountsOfAreas(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("counts differ (-want +got):\n%s", diff)
			}
		}
		want()
		work, source := Stored{Area: "work", Objects: 3, Bytes: 1 << 45, CountedAt: noon}, Stored{Area: "source", Objects: 2, Bytes: 8, CountedAt: noon.Add(time.Hour)}
		for _, c := range []Stored{work, {Area: "source", Objects: 9, Bytes: 9, CountedAt: noon}, source} {
			if err := RecordStored(t.Context(), s, c); err != nil {
				t.Fatal(err)
			}
		}
		want(source, work)
	})
}

func TestTheNewestCompleteBackupIsKnown(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, want := t.Context(), time.Time{}
		for _, began := range []time.Time{{}, noon, noon.Add(time.Hour), noon} { // the last one began before, and took longer
			if !began.IsZero() {
				if err := RecordBackup(ctx, s, began); err != nil {
					t.Fatal(err)
				}
			}
			if began.After(want) {
				want = began
			}
			if got, err := NewestBackup(ctx, s); err != nil || !got.Equal(want) {
				t.Errorf("after a backup that began at %s the newest is of %s, %v; want %s", began, got, err, want)
			}
		}
	})
}
