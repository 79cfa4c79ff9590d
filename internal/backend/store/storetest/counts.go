package storetest

import (
	"database/sql"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func countTests() []test {
	return []test{
		{"a video counts from its creation until its deletion", testCountedLife},
		{"what fails or expires gives back", testCountedFailures},
		{"an upload counts as soon as it is stored, once", testCountedUpload},
		{"wrong counts are corrected", testRecount},
		{"counts are exact whatever happens at once", testCountsRace},
	}
}

// countsOf returns how many videos each tenant has, their bytes, and how many are in work.
func countsOf(t *testing.T, st *store.Store) map[video.Tenant][3]int64 {
	t.Helper()
	counts := map[video.Tenant][3]int64{}
	_, err := store.Collect(t.Context(), st.Queries, "read counts", func(row *sql.Rows) (none struct{}, err error) {
		var name video.Tenant
		var c [3]int64
		err = row.Scan(&name, &c[0], &c[1], &c[2])
		counts[name] = c
		return none, err
	}, `SELECT name, videos, bytes, in_work FROM tenant`)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// uses checks what the default tenant uses.
func uses(t *testing.T, st *store.Store, videos, bytes, inWork int64) {
	t.Helper()
	got := countsOf(t, st)[video.DefaultTenant]
	if want := [3]int64{videos, bytes, inWork}; got != want {
		t.Errorf("the tenant uses %v; want %v", got, want)
	}
}

func acceptSize(t *testing.T, st *store.Store, id video.ID, size int64) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.AcceptUpload(t.Context(), id, video.Source{Key: "k", Size: size, ETag: "e"}, noon)
		return err
	})
}

func testCountedLife(t *testing.T, st *store.Store) {
	ctx := t.Context()
	uses(t, st, 0, 0, 0)
	v, other := Stored(t, st, video.PendingUpload, "720p"), NewVideo("720p")
	other.Tenant = "acme"
	insert(t, st, other)
	uses(t, st, 1, 0, 0)
	acceptSize(t, st, v.ID, 100)
	acceptSize(t, st, v.ID, 300) // changes nothing
	uses(t, st, 1, 100, 1)
	Change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Ready, nil) })
	uses(t, st, 1, 100, 0)
	Change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Processing, nil) })
	uses(t, st, 1, 100, 1)
	Change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Fail, video.Failf(video.Corrupt, "x")) })
	uses(t, st, 1, 100, 0) // its file is still there
	Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, v.ID, noon) })
	uses(t, st, 0, 0, 0)
	Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) })
	uses(t, st, 0, 0, 0)
	if got := countsOf(t, st)["acme"]; got != [3]int64{1, 0, 0} {
		t.Errorf("the other tenant uses %v; want its video", got)
	}
}

func testCountedFailures(t *testing.T, st *store.Store) {
	ctx := t.Context()
	refused, expired := Stored(t, st, video.PendingUpload, "720p"), Stored(t, st, video.PendingUpload, "720p")
	uses(t, st, 2, 0, 0)
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.RefuseUpload(ctx, refused.ID, video.Failf(video.NotAVideo, "x"))
		return err
	})
	uses(t, st, 1, 0, 0)
	Change(t, st, func(tx *store.Tx) error { return tx.CountUpload(ctx, expired.ID, 70) })
	uses(t, st, 1, 70, 0)
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExpireUpload(ctx, expired.ID, noon.Add(48*time.Hour), video.Failf(video.UploadExpired, "x"))
		return err
	})
	uses(t, st, 0, 0, 0)
	acceptSize(t, st, refused.ID, 50) // a later file is a video
	uses(t, st, 1, 50, 1)

	wrong := Stored(t, st, video.PendingUpload, "720p")
	Change(t, st, func(tx *store.Tx) error { return tx.CountUpload(ctx, wrong.ID, 7) })
	refuse(t, st, wrong.ID, video.Failf(video.NotAVideo, "x"), true)
	uses(t, st, 1, 57, 1)
	if _, err := st.MarkFailedUploads(ctx, noon.Add(48*time.Hour), noon, 10); err != nil {
		t.Fatal(err)
	}
	uses(t, st, 1, 50, 1)
}

func testCountedUpload(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p")
	for _, size := range []int64{10, 30, 30, 20} {
		Change(t, st, func(tx *store.Tx) error { return tx.CountUpload(t.Context(), v.ID, size) })
		uses(t, st, 1, size, 0)
	}
	acceptSize(t, st, v.ID, 25)
	uses(t, st, 1, 25, 1)
	Change(t, st, func(tx *store.Tx) error { return tx.CountUpload(t.Context(), v.ID, 0) }) // too late
	uses(t, st, 1, 25, 1)
}

func testRecount(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.PendingUpload, "720p")
	acceptSize(t, st, v.ID, 100)
	Change(t, st, func(tx *store.Tx) error { return tx.LockTenant(ctx, "zoo") }) // it has no videos
	right := countsOf(t, st)
	recount(t, st, right)
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE tenant SET videos = 7, bytes = 1, in_work = 0`)
		return err
	})
	recount(t, st, right)
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM tenant WHERE name = 'default'`)
		return err
	})
	recount(t, st, right)
}

// recount counts the videos again, and wants this result.
func recount(t *testing.T, st *store.Store, want map[video.Tenant][3]int64) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error { return tx.RecountTenants(t.Context()) })
	if diff := cmp.Diff(want, countsOf(t, st)); diff != "" {
		t.Errorf("counted again (-want +got):\n%s", diff)
	}
}

// testCountsRace has everything happen to a few videos at once.
func testCountsRace(t *testing.T, st *store.Store) {
	ctx := t.Context()
	f := video.Failf(video.Corrupt, "x")
	var ids []video.ID
	for range 4 {
		ids = append(ids, Stored(t, st, video.PendingUpload, "720p").ID)
	}
	names := []string{"a", "b", "c", "d"}
	steps := []func(*store.Tx, video.ID) error{
		func(tx *store.Tx, _ video.ID) error { return tx.InsertVideo(ctx, NewVideo("720p")) },
		func(tx *store.Tx, id video.ID) error {
			return tx.CountUpload(ctx, id, rand.Int64N(1000))
		},
		func(tx *store.Tx, id video.ID) error {
			_, err := tx.AcceptUpload(ctx, id, video.Source{Key: "k", Size: rand.Int64N(1000)}, noon)
			return err
		},
		func(tx *store.Tx, id video.ID) error { _, err := tx.RefuseUpload(ctx, id, f); return err },
		func(tx *store.Tx, id video.ID) error { return tx.MoveVideo(ctx, id, video.Ready, nil) },
		func(tx *store.Tx, id video.ID) error {
			from := rand.IntN(len(names))
			return tx.StoreFields(ctx, &video.Video{ID: id, Tags: names[from : from+rand.IntN(len(names)-from)]}, "tags")
		},
		func(tx *store.Tx, id video.ID) error { return tx.MoveVideo(ctx, id, video.Processing, nil) },
		func(tx *store.Tx, id video.ID) error { return tx.MarkDeleted(ctx, id, noon) },
		func(tx *store.Tx, id video.ID) error { return tx.RemoveVideo(ctx, id) },
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
	tags := tagsOf(t, st)
	recount(t, st, countsOf(t, st))
	if diff := cmp.Diff(tags, tagsOf(t, st)); diff != "" {
		t.Errorf("tags counted again (-want +got):\n%s", diff)
	}
}

// tagsOf returns how many videos of all tenants have each tag.
func tagsOf(t *testing.T, st *store.Store) []string {
	t.Helper()
	tags, err := store.Collect(t.Context(), st.Queries, "read tags", func(row *sql.Rows) (tag string, err error) {
		return tag, row.Scan(&tag)
	}, `SELECT tenant || ' ' || name || ' ' || CAST(videos AS TEXT) FROM tag ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	return tags
}
