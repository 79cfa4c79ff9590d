package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func promiseTests() []test {
	return []test{
		{"the first promise under a key stays", firstPromiseStays},
		{"one of many makes the promise, and all learn of it", onePromises},
		{"old promises are forgotten", promisesAreForgotten},
		{"only a video that waits for its upload waits longer", uploadIsExtended},
		{"a video that may still get its file is kept open", uploadIsKeptOpen},
	}
}

func newPromise(key string) store.IdempotencyRecord {
	return store.IdempotencyRecord{Tenant: "acme", Key: key, Digest: "digest of " + key, Video: newVideo().ID, CreatedAt: noon}
}

// wantPromise makes a promise and says what it must turn out to be.
func wantPromise(t *testing.T, st *store.Store, p, want store.IdempotencyRecord) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error {
		got, err := tx.ClaimIdempotencyKey(t.Context(), p)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("promise (-want +got):\n%s", diff)
		}
		return err
	})
}

func firstPromiseStays(t *testing.T, st *store.Store) {
	first, second := newPromise("k"), newPromise("k")
	second.Digest, second.CreatedAt = "other", noon.Add(time.Hour)
	wantPromise(t, st, first, first)
	wantPromise(t, st, second, first)
	foreign := second
	foreign.Tenant = "other tenant"
	wantPromise(t, st, foreign, foreign)
	change(t, st, func(tx *store.Tx) error { return tx.ReplaceIdempotencyRecord(t.Context(), second) })
	wantPromise(t, st, first, second)
	wantPromise(t, st, first, second)
	first.Tenant = foreign.Tenant
	wantPromise(t, st, first, foreign)
}

func onePromises(t *testing.T, st *store.Store) {
	mine := make([]store.IdempotencyRecord, racers)
	seen := make([]video.ID, racers)
	for i := range mine {
		mine[i] = newPromise("k")
	}
	won := race(t, st, func(ctx context.Context, tx *store.Tx, racer int) (bool, error) {
		p, err := tx.ClaimIdempotencyKey(ctx, mine[racer])
		seen[racer] = p.Video
		return p.Video == mine[racer].Video, err
	})
	wantOne(t, won)
	for i, id := range seen {
		if id != seen[0] {
			t.Errorf("racer %d was promised %s, racer 0 %s", i, id, seen[0])
		}
	}
}

func promisesAreForgotten(t *testing.T, st *store.Store) {
	old, young := newPromise("old"), newPromise("young")
	young.CreatedAt = noon.Add(time.Hour)
	wantPromise(t, st, old, old)
	wantPromise(t, st, young, young)
	if err := st.RemoveIdempotencyRecords(t.Context(), young.CreatedAt); err != nil {
		t.Fatal(err)
	}
	again := newPromise("old")
	wantPromise(t, st, again, again)
	wantPromise(t, st, newPromise("young"), young)
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
