package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func tenantTests() []test {
	return []test{
		{"a video counts from its creation until its deletion", testCountedLife},
		{"what fails or expires gives back", testCountedFailures},
		{"an upload counts as soon as it is stored, once", testCountedUpload},
		{"minutes count on their day", testMinutes},
		{"limits are set and listed", testLimits},
		{"the last place is taken once", testLastPlace},
		{"wrong counts are found", testRecount},
		{"counts are exact whatever happens at once", testCountsRace},
	}
}

// uses checks what the default tenant uses.
func uses(t *testing.T, st *store.Store, videos, bytes, inWork int64) {
	t.Helper()
	got, err := store.TenantsOf(st).Usage(t.Context(), video.DefaultTenant, noon)
	if want := (video.Usage{Videos: videos, Bytes: bytes, InWork: inWork}); err != nil || got != want {
		t.Errorf("the tenant uses %+v, %v; want %+v", got, err, want)
	}
}

func acceptSize(t *testing.T, st *store.Store, id video.ID, size int64) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error {
		_, err := tx.AcceptUpload(t.Context(), id, video.Source{Key: "k", Size: size, ETag: "e"}, noon)
		return err
	})
}

func testCountedLife(t *testing.T, st *store.Store) {
	ctx := t.Context()
	uses(t, st, 0, 0, 0)
	v, other := stored(t, st, video.PendingUpload, "720p"), newVideo("720p")
	other.Tenant = "acme"
	insert(t, st, other)
	uses(t, st, 1, 0, 0)
	acceptSize(t, st, v.ID, 100)
	acceptSize(t, st, v.ID, 300) // changes nothing
	uses(t, st, 1, 100, 1)
	change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Ready, nil) })
	uses(t, st, 1, 100, 0)
	change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Processing, nil) })
	uses(t, st, 1, 100, 1)
	change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Fail, video.Failf(video.Corrupt, "x")) })
	uses(t, st, 1, 100, 0) // its file is still there
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, v.ID, noon) })
	uses(t, st, 0, 0, 0)
	change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) })
	uses(t, st, 0, 0, 0)
	u, err := store.TenantsOf(st).Usage(ctx, "acme", noon)
	if err != nil || u.Videos != 1 {
		t.Errorf("the other tenant uses %+v, %v; want its video", u, err)
	}
}

func testCountedFailures(t *testing.T, st *store.Store) {
	ctx := t.Context()
	refused, expired := stored(t, st, video.PendingUpload, "720p"), stored(t, st, video.PendingUpload, "720p")
	uses(t, st, 2, 0, 0)
	change(t, st, func(tx *store.Tx) error {
		_, err := tx.RefuseUpload(ctx, refused.ID, video.Failf(video.NotAVideo, "x"))
		return err
	})
	uses(t, st, 1, 0, 0)
	change(t, st, func(tx *store.Tx) error { return store.TenantsIn(tx).CountUpload(ctx, expired.ID, 70) })
	uses(t, st, 1, 70, 0)
	change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExpireUpload(ctx, expired.ID, noon.Add(48*time.Hour), video.Failf(video.UploadExpired, "x"))
		return err
	})
	uses(t, st, 0, 0, 0)
	acceptSize(t, st, refused.ID, 50) // a later file is a video
	uses(t, st, 1, 50, 1)

	wrong := stored(t, st, video.PendingUpload, "720p")
	change(t, st, func(tx *store.Tx) error { return store.TenantsIn(tx).CountUpload(ctx, wrong.ID, 7) })
	refuse(t, st, wrong.ID, video.Failf(video.NotAVideo, "x"), true)
	uses(t, st, 1, 57, 1)
	if _, err := st.MarkFailedUploads(ctx, noon.Add(48*time.Hour), noon, 10); err != nil {
		t.Fatal(err)
	}
	uses(t, st, 1, 50, 1)
}

func testCountedUpload(t *testing.T, st *store.Store) {
	v := stored(t, st, video.PendingUpload, "720p")
	for _, size := range []int64{10, 30, 30, 20} {
		change(t, st, func(tx *store.Tx) error { return store.TenantsIn(tx).CountUpload(t.Context(), v.ID, size) })
		uses(t, st, 1, size, 0)
	}
	acceptSize(t, st, v.ID, 25)
	uses(t, st, 1, 25, 1)
	change(t, st, func(tx *store.Tx) error { return store.TenantsIn(tx).CountUpload(t.Context(), v.ID, 0) }) // too late
	uses(t, st, 1, 25, 1)
}

func testMinutes(t *testing.T, st *store.Store) {
	ctx := t.Context()
	add := func(d time.Duration, at time.Time) {
		change(t, st, func(tx *store.Tx) error { return store.TenantsIn(tx).AddLength(ctx, video.DefaultTenant, d, at) })
	}
	want := func(minutes float64, at time.Time) {
		t.Helper()
		if u, err := store.TenantsOf(st).Usage(ctx, video.DefaultTenant, at); err != nil || u.MinutesToday() != minutes {
			t.Errorf("at %s there are %v minutes, %v; want %v", at, u.MinutesToday(), err, minutes)
		}
	}
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	add(90*time.Second, noon)
	add(time.Minute, midnight.Add(-time.Millisecond))
	want(2.5, noon)
	want(0, midnight)
	add(30*time.Second, midnight.In(time.FixedZone("west", -8*3600)))
	want(0.5, midnight.Add(time.Hour))
}

func testLimits(t *testing.T, st *store.Store) {
	ctx := t.Context()
	stored(t, st, video.PendingUpload, "720p")
	change(t, st, func(tx *store.Tx) error { return tx.LockTenant(ctx, "zoo") }) // as a new key does
	limits := video.Limits{Videos: 1, Bytes: 1 << 40, MinutesPerDay: 2.5, InWork: 4}
	for _, name := range []video.Tenant{"acme", video.DefaultTenant} {
		change(t, st, func(tx *store.Tx) error { return store.TenantsIn(tx).SetLimits(ctx, name, limits) })
	}
	want := []store.Tenant{
		{Name: "acme", Usage: video.Usage{Limits: limits}},
		{Name: video.DefaultTenant, Usage: video.Usage{Videos: 1, Limits: limits}},
		{Name: "zoo"},
	}
	got, err := store.TenantsOf(st).List(ctx, noon)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("List: %v (-want +got):\n%s", err, diff)
	}
}

func testLastPlace(t *testing.T, st *store.Store) {
	ctx := t.Context()
	change(t, st, func(tx *store.Tx) error {
		return store.TenantsIn(tx).SetLimits(ctx, video.DefaultTenant, video.Limits{Videos: 3})
	})
	var all sync.WaitGroup
	results := make(chan error, 8)
	for range cap(results) {
		all.Go(func() {
			results <- st.InTx(ctx, func(tx *store.Tx) error {
				if err := tx.InsertVideo(ctx, newVideo("720p")); err != nil {
					return err
				}
				u, err := store.TenantsIn(tx).Usage(ctx, video.DefaultTenant, noon)
				if err != nil {
					return err
				}
				return u.CheckCreate()
			})
		})
	}
	all.Wait()
	made := 0
	for range cap(results) {
		if err := <-results; err == nil {
			made++
		} else {
			wantCode(t, err, video.Forbidden, "quota_exceeded")
		}
	}
	if u, err := store.TenantsOf(st).Usage(ctx, video.DefaultTenant, noon); err != nil || made != 3 || u.Videos != 3 {
		t.Errorf("%d of 8 creates passed and %d videos count, %v; want 3", made, u.Videos, err)
	}
}

func testRecount(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := stored(t, st, video.PendingUpload, "720p")
	acceptSize(t, st, v.ID, 100)
	recount := func(want bool) {
		t.Helper()
		change(t, st, func(tx *store.Tx) error {
			wrong, err := store.TenantsIn(tx).Recount(ctx, video.DefaultTenant)
			if wrong != want {
				t.Errorf("Recount reports %t, want %t", wrong, want)
			}
			return err
		})
		uses(t, st, 1, 100, 1)
	}
	recount(false)
	change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE tenant SET videos = 7, bytes = 1, in_work = 0`)
		return err
	})
	recount(true)
	names, err := store.TenantsOf(st).Names(ctx)
	if err != nil || fmt.Sprint(names) != "[default]" {
		t.Errorf("Names = %v, %v", names, err)
	}
}

// testCountsRace has everything happen to a few videos at once.
func testCountsRace(t *testing.T, st *store.Store) {
	ctx := t.Context()
	f := video.Failf(video.Corrupt, "x")
	var ids []video.ID
	for range 4 {
		ids = append(ids, stored(t, st, video.PendingUpload, "720p").ID)
	}
	steps := []func(*store.Tx, video.ID) error{
		func(tx *store.Tx, _ video.ID) error { return tx.InsertVideo(ctx, newVideo("720p")) },
		func(tx *store.Tx, id video.ID) error {
			return store.TenantsIn(tx).CountUpload(ctx, id, rand.Int64N(1000))
		},
		func(tx *store.Tx, id video.ID) error {
			_, err := tx.AcceptUpload(ctx, id, video.Source{Key: "k", Size: rand.Int64N(1000)}, noon)
			return err
		},
		func(tx *store.Tx, id video.ID) error { _, err := tx.RefuseUpload(ctx, id, f); return err },
		func(tx *store.Tx, id video.ID) error { return tx.MoveVideo(ctx, id, video.Ready, nil) },
		func(tx *store.Tx, id video.ID) error { return tx.MoveVideo(ctx, id, video.Processing, nil) },
		func(tx *store.Tx, id video.ID) error { return tx.MarkDeleted(ctx, id, noon) },
		func(tx *store.Tx, id video.ID) error { return tx.RemoveVideo(ctx, id) },
		func(tx *store.Tx, id video.ID) error {
			_, err := store.TenantsIn(tx).Recount(ctx, video.DefaultTenant)
			return err
		},
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				id, step := ids[rand.IntN(len(ids))], steps[rand.IntN(len(steps))]
				err := st.InTx(ctx, func(tx *store.Tx) error { return step(tx, id) })
				if err != nil && video.KindOf(err) != video.Conflict { // an illegal step
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	change(t, st, func(tx *store.Tx) error {
		wrong, err := store.TenantsIn(tx).Recount(ctx, video.DefaultTenant)
		if wrong {
			t.Error("the counts were wrong")
		}
		return err
	})
}
