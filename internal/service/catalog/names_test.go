package catalog

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func oldestFirst(t *testing.T, st *store.Store) {
	for i := range 7 {
		aged(t, st, time.Duration(i/2)*time.Second, nil)
	}
	want, _ := whole(t, st, video.Filter{}, 100)
	slices.Reverse(want)
	for _, limit := range []int{1, 3, 7, 100} {
		got, _ := whole(t, st, video.Filter{Order: video.Order{Ascending: true}}, limit)
		wantIDs(t, got, nil, want...)
		got, _ = whole(t, st, video.Filter{Order: video.Order{Ascending: true}, Status: video.PendingUpload}, limit)
		wantIDs(t, got, nil, want...)
	}
}

func named(filename string) func(*video.Video) {
	return func(v *video.Video) { v.Filename = filename }
}

func listOfNames(t *testing.T, st *store.Store) {
	summer := aged(t, st, 4*time.Second, named("Summer 2030.mov"))
	bear := aged(t, st, 3*time.Second, named("Der BÄR im Sommer 100%.mp4"))
	other := aged(t, st, 2*time.Second, func(v *video.Video) {
		v.Filename, v.Title, v.Status, v.Metadata = "a.mp4", "MidSummer", video.Fail, []byte(`{"album":"a"}`)
	})
	aged(t, st, time.Second, func(v *video.Video) { v.Filename, v.Tenant = "summer.mp4", "others" })
	gone := aged(t, st, 0, named("summer gone.mp4"))
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), gone, noon) })
	for text, want := range map[string][]video.ID{
		"summer": {summer, other}, "SUMMER 20": {summer}, "bär": {bear}, "100%": {bear}, ".mov": {summer},
		"om er": {bear}, "_": nil, "winter": nil, "mov summer": {summer}, "*": nil,
	} {
		f := video.Filter{Words: video.Words(text)}
		for _, limit := range []int{1, 2, 100} {
			got, _ := whole(t, st, f, limit)
			wantIDs(t, got, nil, want...)
		}
		slices.Reverse(want)
		f.Order.Ascending = true
		got, _ := whole(t, st, f, 1)
		wantIDs(t, got, nil, want...)
	}
	f := video.Filter{Words: []string{"summer"}, Status: video.Fail}
	got, _ := whole(t, st, f, 100)
	wantIDs(t, got, nil, other)
	f = video.Filter{Words: []string{"mid"}, Labels: []video.Label{{Key: "album", Value: "a"}}}
	got, _ = whole(t, st, f, 100)
	wantIDs(t, got, nil, other)
	f.Words = []string{"2030"}
	got, _ = whole(t, st, f, 100)
	wantIDs(t, got, nil)
}

// nameSearchEndsEarly has more names than a page examines before the one that it looks for.
func nameSearchEndsEarly(t *testing.T, st *store.Store) {
	wanted := aged(t, st, -time.Hour, named("needle.mp4"))
	insertMany(t, st, 5_500, func(int) string { return "" })
	got, pages := whole(t, st, video.Filter{Words: []string{"needle"}}, 5)
	if wantIDs(t, got, nil, wanted); pages < 2 {
		t.Errorf("5,501 names were examined for %d page, want at most 5,000 for each", pages)
	}
}

// listOfATime compares every combination of filters with what one would pick by hand.
func listOfATime(t *testing.T, st *store.Store) {
	all := map[video.ID]video.Video{}
	for i := range 12 {
		id := aged(t, st, time.Duration(i/2)*time.Second, func(v *video.Video) {
			v.IsPublic = i%3 == 0
			v.Filename = []string{"summer.mp4", "winter.mp4"}[i%2]
			v.Metadata = []byte([]string{`{"album":"a"}`, `{"album":"b"}`}[i/3%2])
		})
		all[id] = read(t, st, id)
	}
	newest, _ := whole(t, st, video.Filter{}, 100)
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	for _, f := range combinations(
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Public = new(true) }, func(f *video.Filter) { f.Public = new(false) }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.CreatedFrom = at(1000) }, func(f *video.Filter) { f.CreatedFrom = at(1001) }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.CreatedBefore = at(4000) }, func(f *video.Filter) { f.CreatedBefore = at(4001) }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Words = []string{"summer"} }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Labels = []video.Label{{Key: "album", Value: "a"}} }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Status = video.PendingUpload }},
		[]func(*video.Filter){nil, func(f *video.Filter) { f.Order.Ascending = true }},
	) {
		var want []video.ID
		for _, id := range newest {
			if v := all[id]; f.Fits(v.Metadata) && f.Mentions(v.Filename) && (f.Public == nil || *f.Public == v.IsPublic) &&
				!v.CreatedAt.Before(f.CreatedFrom) && (f.CreatedBefore.IsZero() || v.CreatedAt.Before(f.CreatedBefore)) {
				want = append(want, id)
			}
		}
		if f.Order.Ascending {
			slices.Reverse(want)
		}
		for _, limit := range []int{1, 3, 100} {
			if got, _ := whole(t, st, f, limit); !slices.Equal(got, want) {
				t.Errorf("%+v by %d: %d videos %q, want %d: %q", f, limit, len(got), got, len(want), want)
			}
		}
	}
}

// combinations returns all filters that one choice of each list makes.
func combinations(choices ...[]func(*video.Filter)) []video.Filter {
	all := []video.Filter{{}}
	for _, list := range choices {
		var next []video.Filter
		for _, f := range all {
			for _, change := range list {
				changed := f
				if change != nil {
					change(&changed)
				}
				next = append(next, changed)
			}
		}
		all = next
	}
	return all
}
