package catalog

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func newRecord(key string, id video.ID) idempotencyRecord {
	return idempotencyRecord{tenant: "acme", key: key, digest: "digest of " + key, video: id, createdAt: noon}
}

func change(t *testing.T, st *store.Store, f func(*store.Tx) error) {
	t.Helper()
	if err := st.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// wantRecord claims a key and checks the record that it gets.
func wantRecord(t *testing.T, st *store.Store, r, want idempotencyRecord) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error {
		got, err := claimKey(t.Context(), tx, r)
		if got != want {
			t.Errorf("the record is %+v, want %+v", got, want)
		}
		return err
	})
}

func TestTheFirstRecordOfAKeyStays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		first, second := newRecord("k", "first"), newRecord("k", "second")
		second.digest, second.createdAt = "other", noon.Add(time.Hour)
		wantRecord(t, st, first, first)
		wantRecord(t, st, second, first)
		foreign := second
		foreign.tenant = "other tenant"
		wantRecord(t, st, foreign, foreign)
		change(t, st, func(tx *store.Tx) error { return replaceRecord(t.Context(), tx, second) })
		wantRecord(t, st, first, second)
		wantRecord(t, st, first, second)
		first.tenant = foreign.tenant
		wantRecord(t, st, first, foreign)
	})
}

func TestOneOfManyMakesTheRecordAndAllGetIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		const racers = 8
		seen := make([]video.ID, racers)
		var racing sync.WaitGroup
		for i := range racers {
			racing.Go(func() {
				err := st.InTx(t.Context(), func(tx *store.Tx) error {
					r, err := claimKey(t.Context(), tx, newRecord("k", video.ID("racer "+string(rune('0'+i)))))
					seen[i] = r.video
					return err
				})
				if err != nil {
					t.Errorf("racer %d: %v", i, err)
				}
			})
		}
		racing.Wait()
		for i, id := range seen {
			if id == "" || id != seen[0] {
				t.Errorf("racer %d got %q, racer 0 %q", i, id, seen[0])
			}
		}
	})
}

func TestOldRecordsAreDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		old, young := newRecord("old", "a"), newRecord("young", "b")
		young.createdAt = noon.Add(time.Hour)
		wantRecord(t, st, old, old)
		wantRecord(t, st, young, young)
		change(t, st, func(tx *store.Tx) error { return removeRecords(t.Context(), tx, young.createdAt) })
		again := newRecord("old", "c")
		wantRecord(t, st, again, again)
		wantRecord(t, st, newRecord("young", "d"), young)
	})
}

func TestRecordsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx, r := t.Context(), newRecord("k", "a")
		if _, err := claimKey(ctx, tx, r); err != nil {
			return err
		}
		if err := replaceRecord(ctx, tx, r); err != nil {
			return err
		}
		return removeRecords(ctx, tx, noon)
	})
}
