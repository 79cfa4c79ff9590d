package catalog

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func labelled(metadata string) func(*video.Video) {
	return func(v *video.Video) { v.Metadata = json.RawMessage(metadata) }
}

func listOfLabels(t *testing.T, st *store.Store) {
	holiday := aged(t, st, 3, labelled(`{"album":"holiday","year":2030}`))
	aged(t, st, 2, nil)
	older := aged(t, st, -time.Second, labelled(`{"year":2029,"album":"holid\u0061y"}`))
	party := aged(t, st, -time.Minute, func(v *video.Video) {
		v.Metadata, v.Status = json.RawMessage(`{"album":"party's \"best\"","year":2030}`), video.Fail
	})
	label := func(key, value string) video.Label { return video.Label{Key: key, Value: value} }
	for _, tt := range []struct {
		name   string
		filter video.Filter
		want   []video.ID
	}{
		{"one label", video.Filter{Labels: []video.Label{label("album", "holiday")}}, []video.ID{holiday, older}},
		{"two labels", video.Filter{Labels: []video.Label{label("album", "holiday"), label("year", "2030")}}, []video.ID{holiday}},
		{"quotes", video.Filter{Labels: []video.Label{label("album", `party's "best"`)}}, []video.ID{party}},
		{"a label and a status", video.Filter{Status: video.Fail, Labels: []video.Label{label("year", "2030")}}, []video.ID{party}},
		{"a label that nothing has", video.Filter{Labels: []video.Label{label("album", "%")}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, limit := range []int{1, 2, 100} {
				got, _ := whole(t, st, tt.filter, limit)
				wantIDs(t, got, nil, tt.want...)
			}
		})
	}
}

// listGoesOn deletes videos before, at and after the place where a page ended,
// and adds newer ones: nothing that was there all the time is missed or told
// twice.
func listGoesOn(t *testing.T, st *store.Store) {
	var ids []video.ID // newest first
	for i := range 12 {
		ids = append(ids, aged(t, st, -time.Duration(i)*time.Second, nil))
	}
	got, next := listed(t, st, video.Filter{}, video.Cursor{}, 4)
	wantIDs(t, got, nil, ids[:4]...)
	for _, gone := range []video.ID{ids[0], ids[3], ids[4], ids[11]} {
		change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), gone) })
	}
	for i := range 3 {
		aged(t, st, time.Duration(i+1)*time.Second, nil)
	}
	got, next = listed(t, st, video.Filter{}, next, 4)
	wantIDs(t, got, nil, ids[5:9]...)
	got, next = listed(t, st, video.Filter{}, next, 4)
	if wantIDs(t, got, nil, ids[9:11]...); next != (video.Cursor{}) {
		t.Errorf("the list goes on at %v", next)
	}
}

func deletedIsNotListed(t *testing.T, st *store.Store) {
	kept, deleted := aged(t, st, 0, nil), aged(t, st, 1, labelled(`{"a":"x"}`))
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), deleted, noon) })
	for _, f := range []video.Filter{{}, {Status: video.PendingUpload}} {
		got, _ := whole(t, st, f, 1)
		wantIDs(t, got, nil, kept)
	}
	if got, _ := whole(t, st, video.Filter{Labels: []video.Label{{Key: "a", Value: "x"}}}, 1); len(got) > 0 {
		t.Errorf("a search finds %v, which is being deleted", got)
	}
}
