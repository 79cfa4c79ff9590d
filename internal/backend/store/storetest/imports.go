package storetest

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func importTests() []test {
	return []test{
		{"claimed once, by lanes", importLanes},
		{"a claim is renewed, lost and ends", importClaims},
		{"fails and is tried again", importFails},
		{"goes with its video", importEnds},
	}
}

// importing stores a video whose file is fetched from noon on.
func importing(t *testing.T, st *store.Store, tenant video.Tenant) video.Video {
	t.Helper()
	v := newVideo("720p")
	v.Tenant, v.Imported, v.UploadExpiresAt = tenant, true, store.ImportForever
	change(t, st, func(tx *store.Tx) error {
		if err := tx.InsertVideo(t.Context(), v); err != nil {
			return err
		}
		return store.ImportsIn(tx).Insert(t.Context(), v, "https://example.com/"+string(v.ID), noon)
	})
	return v
}

func claimImport(t *testing.T, st *store.Store, v video.Video, lease string, at time.Time) (store.Import, bool) {
	t.Helper()
	got, ok, err := store.ImportsOf(st).Claim(t.Context(), v.ID, lease, at, at.Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return got, ok
}

func importLanes(t *testing.T, st *store.Store) {
	rows, ctx := store.ImportsOf(st), t.Context()
	if next, err := rows.Next(ctx); err != nil || !next.IsZero() {
		t.Errorf("without imports, Next = %v, %v", next, err)
	}
	a1, a2, b := importing(t, st, "a"), importing(t, st, "a"), importing(t, st, "b")
	if next, err := rows.Next(ctx); err != nil || !next.Equal(noon) {
		t.Errorf("Next = %v, %v; want noon", next, err)
	}
	for _, tt := range []struct {
		after video.Tenant
		at    time.Time
		want  int
		due   bool
	}{{"", noon, 2, true}, {"a", noon, 1, true}, {"b", noon, 0, true}, {"", noon.Add(-time.Second), 2, false}} {
		got, err := rows.Lanes(ctx, tt.after, tt.at, 10)
		if err != nil || len(got) != tt.want || len(got) > 0 && (got[0].Head != "") != tt.due {
			t.Errorf("lanes after %q at %s: %v, %v", tt.after, tt.at, got, err)
		}
	}
	first, ok := claimImport(t, st, a1, "one", noon)
	if !ok || first.URL != "https://example.com/"+string(a1.ID) || first.Tenant != "a" || !first.StartedAt.Equal(noon) || first.Lease != "one" {
		t.Errorf("claimed: %+v, %t", first, ok)
	}
	if _, ok := claimImport(t, st, a1, "two", noon.Add(9*time.Second)); ok {
		t.Error("an import is claimed twice")
	}
	claimImport(t, st, a2, "one", noon)
	if got, err := rows.Lanes(ctx, "", noon, 10); err != nil || len(got) != 2 || got[0].Head != "" || got[1].Head != b.ID {
		t.Errorf("lanes after claims: %v, %v", got, err)
	}
	if again, ok := claimImport(t, st, a1, "two", noon.Add(10*time.Second)); !ok || !again.StartedAt.Equal(noon) {
		t.Error("a claim that has ended is not given to the next")
	}
}

func importClaims(t *testing.T, st *store.Store) {
	rows, ctx, v := store.ImportsOf(st), t.Context(), importing(t, st, "a")
	mine, _ := claimImport(t, st, v, "one", noon)
	if ok, err := rows.Renew(ctx, mine, noon.Add(time.Minute), 0.25); err != nil || !ok {
		t.Fatalf("renew: %t, %v", ok, err)
	}
	if got := read(t, st, v.ID); got.ImportProgress != 0.25 || !got.Imported {
		t.Errorf("the progress is %g", got.ImportProgress)
	}
	mine.ETag, mine.Modified = `"e"`, "yesterday"
	if ok, err := rows.SetVersion(ctx, mine); err != nil || !ok {
		t.Fatalf("set version: %t, %v", ok, err)
	}
	mine.Tries, mine.TroubleAt, mine.Peak = 3, noon, 99
	if err := rows.Postpone(ctx, mine, noon.Add(time.Second), 0.5); err != nil {
		t.Fatal(err)
	}
	if got := read(t, st, v.ID); got.ImportProgress != 0.5 {
		t.Errorf("after a try that brought half, the progress is %g", got.ImportProgress)
	}
	next, ok := claimImport(t, st, v, "two", noon.Add(time.Second))
	mine.Lease = "two"
	if !ok || next != mine {
		t.Errorf("claimed after it was postponed: %+v; want %+v", next, mine)
	}
	stale := mine
	stale.Lease = "one"
	renewed, err1 := rows.Renew(ctx, stale, noon, 1)
	versioned, err2 := rows.SetVersion(ctx, stale)
	err3 := rows.Postpone(ctx, stale, noon, 1)
	var failed bool
	change(t, st, func(tx *store.Tx) (err error) {
		failed, err = store.ImportsIn(tx).Fail(ctx, stale, video.Failf(video.ImportRefused, "No."), noon)
		return err
	})
	if renewed || versioned || failed || err1 != nil || err2 != nil || err3 != nil {
		t.Errorf("a claim that was lost still has effects: %t %t %t (%v %v %v)", renewed, versioned, failed, err1, err2, err3)
	}
	if _, ok := claimImport(t, st, v, "three", noon.Add(2*time.Second)); ok {
		t.Error("somebody who lost its claim has released it")
	}
	if ok, err := rows.Renew(ctx, mine, noon.Add(time.Minute), -1); err != nil || !ok {
		t.Errorf("renew: %t, %v", ok, err)
	}
	if got := read(t, st, v.ID); got.ImportProgress != 0.5 {
		t.Errorf("the progress is %g; neither a lost claim nor one that knows none changes it", got.ImportProgress)
	}
}

func importFails(t *testing.T, st *store.Store) {
	ctx, v := t.Context(), importing(t, st, "a")
	mine, _ := claimImport(t, st, v, "one", noon)
	restart := func() (restarted bool) {
		change(t, st, func(tx *store.Tx) (err error) {
			restarted, err = store.ImportsIn(tx).Restart(ctx, v.ID, noon)
			return err
		})
		return restarted
	}
	if restart() {
		t.Error("an import that goes on was restarted")
	}
	change(t, st, func(tx *store.Tx) error {
		ok, err := store.ImportsIn(tx).Fail(ctx, mine, video.Failf(video.ImportRefused, "No."), noon)
		if !ok {
			t.Error("a claimed import does not fail")
		}
		return err
	})
	got := read(t, st, v.ID)
	if got.Status != video.Fail || got.Failure.Code != video.ImportRefused || got.Resolutions[0].Status != video.Fail || !got.UploadExpiresAt.Equal(noon) {
		t.Errorf("after its import has failed, the video is %+v", got)
	}
	if next, err := store.ImportsOf(st).Next(ctx); err != nil || !next.IsZero() {
		t.Errorf("a failed import is due at %v, %v", next, err)
	}
	if !restart() {
		t.Error("a failed import was not restarted")
	}
	got = read(t, st, v.ID)
	if got.Status != video.PendingUpload || got.Failure != nil || got.Resolutions[0].Status != video.PendingUpload || !got.UploadExpiresAt.Equal(store.ImportForever) {
		t.Errorf("after its import was restarted, the video is %+v", got)
	}
	if _, ok := claimImport(t, st, v, "two", noon); !ok {
		t.Error("a restarted import is not due")
	}
}

func importEnds(t *testing.T, st *store.Store) {
	ctx := t.Context()
	accepted, deleted, removed := importing(t, st, "a"), importing(t, st, "a"), importing(t, st, "a")
	change(t, st, func(tx *store.Tx) error {
		if _, err := tx.AcceptUpload(ctx, accepted.ID, video.Source{Key: "k", Size: 1}, noon); err != nil {
			return err
		}
		if err := store.ImportsIn(tx).Finish(ctx, accepted.ID); err != nil {
			return err
		}
		if err := tx.MarkDeleted(ctx, deleted.ID, noon); err != nil {
			return err
		}
		return tx.RemoveVideo(ctx, removed.ID)
	})
	if next, err := store.ImportsOf(st).Next(ctx); err != nil || !next.IsZero() {
		t.Errorf("an import is left: due at %v, %v", next, err)
	}
	if got := read(t, st, accepted.ID); got.ImportProgress != 1 || got.Status != video.Processing {
		t.Errorf("after its import, the video is %s at %g", got.Status, got.ImportProgress)
	}
	waits := importing(t, st, "a")
	ids, err := st.AbandonedUploads(ctx, noon.Add(1000*24*time.Hour), 10)
	if err != nil || len(ids) > 0 {
		t.Errorf("imports that wait are abandoned: %v, %v (%s)", ids, err, waits.ID)
	}
}
