package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func TestTags(t *testing.T) {
	t.Parallel()
	eachDatabase(t, []databaseTest{
		{"a list is of the videos with all of some tags", listOfTags},
		{"the counts of tags follow the videos", tagsAreCounted},
		{"tags are listed by name, in pages", tagsInPages},
	})
}

func tagged(tags ...string) func(*video.Video) { return func(v *video.Video) { v.Tags = tags } }

func listOfTags(t *testing.T, st *store.Store) {
	both := aged(t, st, 3*time.Hour, tagged("a", "b"))
	upper := aged(t, st, 2*time.Hour, tagged("A"))
	one := aged(t, st, time.Hour, func(v *video.Video) { v.Tags, v.Title, v.Status = []string{"b", "a b"}, "Zebra", video.Fail })
	aged(t, st, 0, labelled(`{"tag":"a","a":"b"}`))
	byTitle := video.Order{By: video.ByTitle}
	for _, tt := range []struct {
		filter video.Filter
		want   []video.ID
	}{
		{video.Filter{Tags: []string{"a"}}, []video.ID{both}},
		{video.Filter{Tags: []string{"A"}}, []video.ID{upper}},
		{video.Filter{Tags: []string{"b"}}, []video.ID{both, one}},
		{video.Filter{Tags: []string{"b", "a", "b"}}, []video.ID{both}},
		{video.Filter{Tags: []string{"b", "A"}}, nil},
		{video.Filter{Tags: []string{"a b"}}, []video.ID{one}},
		{video.Filter{Tags: []string{"b"}, Status: video.Fail}, []video.ID{one}},
		{video.Filter{Tags: []string{"b"}, Words: []string{"zeb"}}, []video.ID{one}},
		{video.Filter{Tags: []string{"b"}, Order: byTitle}, []video.ID{one, both}},
		{video.Filter{Tags: []string{"b", "a"}, Order: byTitle}, []video.ID{both}},
		{video.Filter{Tags: []string{"none"}, Order: byTitle}, nil},
	} {
		for _, limit := range []int{1, 10} {
			got, _ := whole(t, st, tt.filter, limit)
			if wantIDs(t, got, nil, tt.want...); t.Failed() {
				t.Fatalf("for %+v", tt.filter)
			}
		}
	}
	if found, _, err := listVideos(t, st, "acme", video.Filter{Tags: []string{"a"}}, video.Cursor{}, 10); err != nil || len(found) > 0 {
		t.Errorf("another tenant finds %v, %v", found, err)
	}
}

// wantTags compares the tags of a tenant, such as "a:2 b:1", also with those that are counted anew.
func wantTags(t *testing.T, st *store.Store, tenant video.Tenant, want string) {
	t.Helper()
	for _, how := range []string{"as kept", "counted again"} {
		all, err := pageOfTags(t.Context(), st.Queries, tenant, "", 100)
		var got []string
		for _, tag := range all {
			got = append(got, fmt.Sprint(tag.Name, ":", tag.Videos))
		}
		if text := strings.Join(got, " "); err != nil || text != want {
			t.Errorf("the tags, %s, are %q, %v; want %q", how, text, err, want)
		}
		change(t, st, func(tx *store.Tx) error { return tx.RecountTenants(t.Context()) })
	}
}

func tagsAreCounted(t *testing.T, st *store.Store) {
	ctx := t.Context()
	first, second, foreign := newVideo(), newVideo(), newVideo()
	first.Tags, second.Tags, foreign.Tags, foreign.Tenant = []string{"b", "a"}, []string{"b", "B"}, []string{"b"}, "acme"
	for _, v := range []video.Video{first, second, foreign} {
		insert(t, st, v)
	}
	wantVideo(t, st, first) // the order is kept
	wantTags(t, st, video.DefaultTenant, "a:1 B:1 b:2")
	wantTags(t, st, "acme", "b:1")

	first.Tags = []string{"c", "b"}
	change(t, st, func(tx *store.Tx) error { return errors.Join(tx.Lock(ctx, first.ID), describe(ctx, tx, first)) })
	wantVideo(t, st, first)
	wantTags(t, st, video.DefaultTenant, "B:1 b:2 c:1")
	got, _ := whole(t, st, video.Filter{Tags: []string{"a"}}, 10)
	wantIDs(t, got, nil)
	got, _ = whole(t, st, video.Filter{Tags: []string{"c"}}, 10)
	wantIDs(t, got, nil, first.ID)

	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, second.ID, noon) })
	wantTags(t, st, video.DefaultTenant, "b:1 c:1")
	change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, second.ID) })
	wantTags(t, st, video.DefaultTenant, "b:1 c:1")

	change(t, st, func(tx *store.Tx) error {
		_, err := tx.RefuseUpload(ctx, first.ID, video.Failf(video.UploadEmpty, "Empty."))
		return err
	})
	wantTags(t, st, video.DefaultTenant, "b:1 c:1")
	if _, err := st.MarkFailedUploads(ctx, noon.Add(48*time.Hour), noon, 10); err != nil {
		t.Fatal(err)
	}
	wantTags(t, st, video.DefaultTenant, "")
	change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, foreign.ID) })
	wantTags(t, st, "acme", "")
}

func tagsInPages(t *testing.T, st *store.Store) {
	v := newVideo()
	v.Tags = []string{"zoo", "Äpfel", "apples", "Zoo", "b", " ", "日本", "🎬", "B"}
	insert(t, st, v)
	var names []string
	for after := ""; ; {
		page, err := pageOfTags(t.Context(), st.Queries, v.Tenant, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, tag := range page {
			names = append(names, tag.Name)
		}
		after = names[len(names)-1]
	}
	if folded := strings.ToLower(strings.Join(names, ",")); folded != " ,äpfel,apples,b,b,zoo,zoo,日本,🎬" {
		t.Errorf("the tags are %q", names)
	}
	if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(v.Tags))) {
		t.Errorf("the tags are %q, want each of %q once", names, v.Tags)
	}
}
