package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestLists(t *testing.T) {
	t.Parallel()
	eachDatabase(t, []databaseTest{
		{"a tenant without videos has an empty list", emptyList},
		{"a list has the newest first, and of equal age always the same one", newestFirst},
		{"pages of every size add up to the list", pagesAddUp},
		{"a listed video is the video as it reads", listedAsRead},
		{"only videos in processing are read with their plans", plansInProcessing},
		{"a list is of one tenant", listOfOneTenant},
		{"a list is of one status", listOfOneStatus},
		{"a list is of the videos with a label", listOfLabels},
		{"a list may have the oldest first", oldestFirst},
		{"a list may be ordered by title, duration or size", listInOrder},
		{"a list in order ends early, and goes on from there", orderEndsEarly},
		{"a list in order goes on while videos change", orderGoesOn},
		{"a list is of the videos whose names have words in them", listOfNames},
		{"a list is of a time, and of public or private videos", listOfATime},
		{"a search by words ends early, and goes on from there", nameSearchEndsEarly},
		{"a search by frequent labels ends early, and goes on from there", searchEndsEarly},
		{"a list goes on while videos come and go", listGoesOn},
		{"what is being deleted is not listed", deletedIsNotListed},
		{"videos are read by their ids, thousands at once", videosByID},
	})
}

// listed returns a page that has to be readable.
func listed(t *testing.T, st *store.Store, f video.Filter, after video.Cursor, limit int) ([]video.ID, video.Cursor) {
	t.Helper()
	page, next, err := listVideos(t, st, video.DefaultTenant, f, after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return idsOf(page), next
}

func idsOf(videos []video.Video) []video.ID {
	var ids []video.ID
	for _, v := range videos {
		ids = append(ids, v.ID)
	}
	return ids
}

// whole reads a list to its end, page by page.
func whole(t *testing.T, st *store.Store, f video.Filter, limit int) (all []video.ID, pages int) {
	t.Helper()
	var after video.Cursor
	for {
		ids, next := listed(t, st, f, after, limit)
		all, pages = append(all, ids...), pages+1
		if len(ids) > limit {
			t.Fatalf("a page of %d has %d videos", limit, len(ids))
		}
		if next == (video.Cursor{}) {
			return all, pages
		}
		after = next
	}
}

// aged stores a video that was made some time after noon.
func aged(t *testing.T, st *store.Store, after time.Duration, change func(*video.Video)) video.ID {
	t.Helper()
	v := newVideo("720p", "144p")
	v.CreatedAt = noon.Add(after)
	if change != nil {
		change(&v)
	}
	insert(t, st, v)
	return v.ID
}

func emptyList(t *testing.T, st *store.Store) {
	ids, next := listed(t, st, video.Filter{}, video.Cursor{}, 10)
	if len(ids) != 0 || next != (video.Cursor{}) {
		t.Errorf("list = %v, next %v; want nothing", ids, next)
	}
}

func newestFirst(t *testing.T, st *store.Store) {
	middle := aged(t, st, time.Minute, nil)
	newest := aged(t, st, time.Hour, nil)
	var twins []video.ID
	for range 5 {
		twins = append(twins, aged(t, st, 0, nil))
	}
	slices.Sort(twins)
	slices.Reverse(twins)
	oldest := aged(t, st, -time.Millisecond, nil)
	ids, _ := listed(t, st, video.Filter{}, video.Cursor{}, 100)
	wantIDs(t, ids, nil, slices.Concat([]video.ID{newest, middle}, twins, []video.ID{oldest})...)
}

func pagesAddUp(t *testing.T, st *store.Store) {
	for i := range 23 {
		aged(t, st, time.Duration(i/3)*time.Millisecond, nil) // three at a time are of equal age
	}
	want, _ := whole(t, st, video.Filter{}, 100)
	for limit, wantPages := range map[int]int{1: 23, 2: 12, 7: 4, 22: 2, 23: 1, 24: 1} {
		got, pages := whole(t, st, video.Filter{}, limit)
		if !slices.Equal(got, want) || pages != wantPages {
			t.Errorf("by %d: %d videos in %d pages, want %d in %d", limit, len(got), pages, len(want), wantPages)
		}
	}
}

func listedAsRead(t *testing.T, st *store.Store) {
	ctx := t.Context()
	for i := range video.DefaultPage + 2 { // more than the statement for a usual page takes
		id := aged(t, st, time.Duration(i), func(v *video.Video) {
			v.IsPublic, v.Metadata = i%2 == 0, json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
			v.Thumbnails = []float64{float64(i)}
		})
		change(t, st, func(tx *store.Tx) error {
			if i%3 == 0 {
				return tx.SetFindings(ctx, id, store.Findings{Warnings: []video.Warning{video.Warnf(video.Truncated, "The video is cut off.")}})
			}
			_, err := tx.RefuseUpload(ctx, id, video.Failf(video.NotAVideo, "It is a text."))
			return err
		})
	}
	aged(t, st, 0, func(v *video.Video) { v.Resolutions = nil })
	page, _, err := listVideos(t, st, video.DefaultTenant, video.Filter{}, video.Cursor{}, 100)
	if err != nil || len(page) != video.DefaultPage+3 {
		t.Fatalf("%d videos, %v; want %d", len(page), err, video.DefaultPage+3)
	}
	for _, v := range page {
		wantVideo(t, st, v)
	}
}

func plansInProcessing(t *testing.T, st *store.Store) {
	ready, atWork := storetest.Stored(t, st, video.Ready, "720p"), storetest.Stored(t, st, video.Processing, "720p")
	for _, v := range []video.Video{ready, atWork} {
		change(t, st, func(tx *store.Tx) error {
			return tx.SetFindings(t.Context(), v.ID, store.Findings{Plan: &video.Plan{Timescale: 7}})
		})
	}
	page, _, err := listVideos(t, st, video.DefaultTenant, video.Filter{}, video.Cursor{}, 2)
	if err != nil || len(page) != 2 {
		t.Fatalf("%d videos, %v; want 2", len(page), err)
	}
	for _, v := range page {
		if (v.Plan != nil) != (v.ID == atWork.ID) {
			t.Errorf("a video that is %s is listed with plan %v", v.Status, v.Plan)
		}
		alone, err := st.Video(t.Context(), v.ID)
		if err != nil || (alone.Plan != nil) != (v.Plan != nil) {
			t.Errorf("a video that is %s is read with plan %v, %v", v.Status, alone.Plan, err)
		}
		full, err := st.VideoWithPlan(t.Context(), v.ID)
		if err != nil || full.Plan == nil {
			t.Errorf("a video that is %s has plan %v, %v; want it whenever it is asked for", v.Status, full.Plan, err)
		}
		change(t, st, func(tx *store.Tx) error {
			if inside, err := tx.Video(t.Context(), v.ID); err != nil || inside.Plan == nil {
				t.Errorf("in a transaction a video that is %s has plan %v, %v", v.Status, inside.Plan, err)
			}
			return nil
		})
	}
}

func listOfOneTenant(t *testing.T, st *store.Store) {
	mine := aged(t, st, 0, nil)
	theirs := aged(t, st, time.Hour, func(v *video.Video) { v.Tenant = "acme" })
	for tenant, want := range map[video.Tenant]video.ID{video.DefaultTenant: mine, "acme": theirs} {
		page, next, err := listVideos(t, st, tenant, video.Filter{}, video.Cursor{}, 1)
		if wantIDs(t, idsOf(page), err, want); next != (video.Cursor{}) {
			t.Errorf("the list of %s goes on at %v", tenant, next)
		}
	}
	// A place in somebody else's list is a moment, and nothing more.
	ids, _ := listed(t, st, video.Filter{}, video.Cursor{CreatedAt: noon.Add(time.Hour), ID: theirs}, 10)
	wantIDs(t, ids, nil, mine)
}

func listOfOneStatus(t *testing.T, st *store.Store) {
	want := map[video.Status][]video.ID{}
	for i := range 20 {
		s := video.Statuses[i%4]
		id := aged(t, st, -time.Duration(i)*time.Second, func(v *video.Video) { v.Status = s })
		want[s] = append(want[s], id)
	}
	for s, ids := range want {
		got, pages := whole(t, st, video.Filter{Status: s}, 2)
		if wantIDs(t, got, nil, ids...); pages != 3 {
			t.Errorf("five videos that are %s come in %d pages of 2", s, pages)
		}
	}
	if ids, _ := listed(t, st, video.Filter{Status: "other"}, video.Cursor{}, 10); len(ids) > 0 {
		t.Errorf("a status that does not exist has videos %v", ids)
	}
}
