package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func idempotencyTests() []test {
	return []test{
		{"the first record of a key stays", firstRecordStays},
		{"one of many makes the record, and all get it", oneMakesTheRecord},
		{"old records are deleted", oldRecordsAreDeleted},
		{"only a video that waits for its upload waits longer", uploadIsExtended},
		{"a video that may still get its file is kept open", uploadIsKeptOpen},
	}
}

func newRecord(key string) store.IdempotencyRecord {
	return store.IdempotencyRecord{Tenant: "acme", Key: key, Digest: "digest of " + key, Video: newVideo().ID, CreatedAt: noon}
}

// wantRecord claims a key and checks the record that it gets.
func wantRecord(t *testing.T, st *store.Store, p, want store.IdempotencyRecord) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error {
		got, err := tx.ClaimIdempotencyKey(t.Context(), p)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		return err
	})
}

func firstRecordStays(t *testing.T, st *store.Store) {
	first, second := newRecord("k"), newRecord("k")
	second.Digest, second.CreatedAt = "other", noon.Add(time.Hour)
	wantRecord(t, st, first, first)
	wantRecord(t, st, second, first)
	foreign := second
	foreign.Tenant = "other tenant"
	wantRecord(t, st, foreign, foreign)
	change(t, st, func(tx *store.Tx) error { return tx.ReplaceIdempotencyRecord(t.Context(), second) })
	wantRecord(t, st, first, second)
	wantRecord(t, st, first, second)
	first.Tenant = foreign.Tenant
	wantRecord(t, st, first, foreign)
}

func oneMakesTheRecord(t *testing.T, st *store.Store) {
	mine := make([]store.IdempotencyRecord, racers)
	seen := make([]video.ID, racers)
	for i := range mine {
		mine[i] = newRecord("k")
	}
	won := race(t, st, func(ctx context.Context, tx *store.Tx, racer int) (bool, error) {
		p, err := tx.ClaimIdempotencyKey(ctx, mine[racer])
		seen[racer] = p.Video
		return p.Video == mine[racer].Video, err
	})
	wantOne(t, won)
	for i, id := range seen {
		if id != seen[0] {
			t.Errorf("racer %d got %s, racer 0 %s", i, id, seen[0])
		}
	}
}

func oldRecordsAreDeleted(t *testing.T, st *store.Store) {
	old, young := newRecord("old"), newRecord("young")
	young.CreatedAt = noon.Add(time.Hour)
	wantRecord(t, st, old, old)
	wantRecord(t, st, young, young)
	if err := st.RemoveIdempotencyRecords(t.Context(), young.CreatedAt); err != nil {
		t.Fatal(err)
	}
	again := newRecord("old")
	wantRecord(t, st, again, again)
	wantRecord(t, st, newRecord("young"), young)
}

func uploadIsExtended(t *testing.T, st *store.Store) {
	waiting, working := stored(t, st, video.PendingUpload, "720p"), stored(t, st, video.Processing, "720p")
	later := noon.Add(1000 * time.Hour)
	for v, want := range map[video.ID]time.Time{waiting.ID: later, working.ID: working.UploadExpiresAt} {
		change(t, st, func(tx *store.Tx) error { return tx.ExtendUpload(t.Context(), v, later) })
		got, err := st.Video(t.Context(), v)
		if err != nil || !got.UploadExpiresAt.Equal(want) {
			t.Errorf("waits until %v, %v; want %v", got.UploadExpiresAt, err, want)
		}
	}
}

func uploadIsKeptOpen(t *testing.T, st *store.Store) {
	waiting, failed := stored(t, st, video.PendingUpload, "720p"), stored(t, st, video.PendingUpload, "720p")
	givenUp, accepted := stored(t, st, video.PendingUpload, "720p"), stored(t, st, video.PendingUpload, "720p")
	accept(t, st, accepted.ID, someSource, true)
	refuse(t, st, failed.ID, video.Failf(video.UploadMissing, "nothing"), true)
	refuse(t, st, givenUp.ID, video.Failf(video.UploadExpired, "too late"), true)
	later, before := noon.Add(1000*time.Hour), noon.Add(-1000*time.Hour)
	for v, want := range map[video.ID]time.Time{
		waiting.ID: later, failed.ID: later, givenUp.ID: givenUp.UploadExpiresAt, accepted.ID: accepted.UploadExpiresAt,
	} {
		for _, until := range []time.Time{later, before} {
			if err := st.KeepUploadOpen(t.Context(), v, until); err != nil {
				t.Fatal(err)
			}
		}
		got, err := st.Video(t.Context(), v)
		if err != nil || !got.UploadExpiresAt.Equal(want) {
			t.Errorf("waits until %v, %v; want %v", got.UploadExpiresAt, err, want)
		}
	}
}
