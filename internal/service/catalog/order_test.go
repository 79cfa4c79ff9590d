package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// listInOrder compares every order, with every combination of filters, with what one would sort by hand.
func listInOrder(t *testing.T, st *store.Store) {
	// As people would sort them. Case and accents do not matter.
	titles := []string{"", "10", "9", "apples", "Äpfel", "APPLES 2", "b_", "B-", "École", "ecole", "straße", "STRASSE", "ж", "Ж", "映画", strings.Repeat("🎬", video.MaxTitle)}
	sorted := map[string]int{"": 0, "10": 1, "9": 2, "Äpfel": 3, "apples": 4, "APPLES 2": 5, "B-": 6, "b_": 7, "École": 8, "ecole": 8, "straße": 9, "STRASSE": 9,
		"ж": 10, "Ж": 10, "映画": 11, titles[len(titles)-1]: 12}
	var all []video.Video
	for i, title := range titles {
		id := aged(t, st, time.Duration(i/2)*time.Second, func(v *video.Video) {
			v.Title, v.Duration, v.SizeBytes = title, time.Duration(i*7%5)*time.Hour, int64(i*5%7)<<40
			v.IsPublic, v.Status = i%3 == 0, []video.Status{video.Ready, video.Fail}[i%2]
			v.Metadata = []byte(fmt.Sprintf(`{"album":%d}`, i%4))
		})
		all = append(all, read(t, st, id))
	}
	aged(t, st, 0, func(v *video.Video) { v.Tenant = "others" })
	gone := aged(t, st, 0, nil)
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), gone, noon) })
	compare := map[video.Sort]func(a, b video.Video) int{
		video.ByTitle:    func(a, b video.Video) int { return cmp.Compare(sorted[a.Title], sorted[b.Title]) },
		video.ByDuration: func(a, b video.Video) int { return cmp.Compare(a.Duration, b.Duration) },
		video.BySize:     func(a, b video.Video) int { return cmp.Compare(a.SizeBytes, b.SizeBytes) },
	}
	for _, f := range combinations(
		[]func(*video.Filter){func(f *video.Filter) { f.Order.By = video.ByTitle }, func(f *video.Filter) { f.Order.By = video.ByDuration }, func(f *video.Filter) { f.Order.By = video.BySize }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Order.Ascending = true }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Status = video.Fail }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Public = new(false) }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.CreatedFrom, f.CreatedBefore = noon.Add(time.Second), noon.Add(6*time.Second) }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Words = []string{"e"} }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Labels = []video.Label{{Key: "album", Value: "1"}} }},
	) {
		slices.SortFunc(all, func(a, b video.Video) int { return cmp.Or(compare[f.Order.By](a, b), cmp.Compare(a.ID, b.ID)) })
		if !f.Order.Ascending {
			slices.Reverse(all)
		}
		var want []video.ID
		for _, v := range all {
			if f.Selects(v) && f.Fits(v.Metadata) {
				want = append(want, v.ID)
			}
		}
		for _, limit := range []int{1, 3, 100} {
			if got, _ := whole(t, st, f, limit); !slices.Equal(got, want) {
				t.Errorf("%+v by %d: %d videos %q, want %d: %q", f, limit, len(got), got, len(want), want)
			}
		}
	}
}

// orderEndsEarly has more videos than a page examines before the one that it looks for.
func orderEndsEarly(t *testing.T, st *store.Store) {
	wanted := aged(t, st, -time.Hour, func(v *video.Video) { v.Title, v.Status = "zebra", video.Fail })
	insertMany(t, st, 1_500, func(int) string { return "" })
	f := video.Filter{Status: video.Fail, Order: video.Order{By: video.ByTitle, Ascending: true}}
	got, pages := whole(t, st, f, 5)
	if wantIDs(t, got, nil, wanted); pages < 2 {
		t.Errorf("1,501 videos were examined for %d page, want at most 1,000 for each", pages)
	}
}

// orderGoesOn has the video at which a page ended renamed and another one deleted.
func orderGoesOn(t *testing.T, st *store.Store) {
	title := func(s string) func(*video.Video) { return func(v *video.Video) { v.Title = s } }
	a, b, c, d := aged(t, st, 3, title("a")), aged(t, st, 1, title("B")), aged(t, st, 2, title("c")), aged(t, st, 0, title("D"))
	f := video.Filter{Order: video.Order{By: video.ByTitle, Ascending: true}}
	first, next := listed(t, st, f, video.Cursor{}, 2)
	wantIDs(t, first, nil, a, b)
	change(t, st, func(tx *store.Tx) error {
		v := read(t, st, b)
		v.Title = "Z"
		if err := describe(t.Context(), tx, v); err != nil {
			return err
		}
		return tx.MarkDeleted(t.Context(), c, noon)
	})
	rest, end := listed(t, st, f, next, 10)
	if wantIDs(t, rest, nil, d, b); end != (video.Cursor{}) {
		t.Errorf("the last page goes on at %v", end)
	}
}
