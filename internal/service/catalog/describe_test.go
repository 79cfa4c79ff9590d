package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// labelsFollow changes the metadata of a video in every way, and searches for the old and the new.
func labelsFollow(t *testing.T, st *store.Store) {
	v, other := newVideo("720p"), newVideo("720p")
	v.Metadata, other.Metadata = json.RawMessage(`{"a":"x","b":"y"}`), json.RawMessage(`{"a":"x"}`)
	insert(t, st, v)
	insert(t, st, other)
	many := json.RawMessage(`{"a":"z"` + strings.Repeat(`,"k":1`, 3) + manyMembers(70) + `}`)
	for _, metadata := range []json.RawMessage{
		json.RawMessage(`{"a":"z"}`), nil, many, json.RawMessage(`{"a":"x","c":"z"}`), json.RawMessage(`{}`),
	} {
		v.Title, v.Metadata = v.Title+"!", metadata
		change(t, st, func(tx *store.Tx) error {
			return errors.Join(tx.Lock(t.Context(), v.ID), describe(t.Context(), tx, v))
		})
		wantVideo(t, st, v)
		for _, label := range []video.Label{{Key: "a", Value: "x"}, {Key: "a", Value: "z"}, {Key: "b", Value: "y"}, {Key: "c", Value: "z"}} {
			f := video.Filter{Labels: []video.Label{label}}
			found, _, err := listVideos(t, st, video.DefaultTenant, f, video.Cursor{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range []video.Video{v, other} {
				if got, want := contains(found, one.ID), one.Metadata != nil && f.Fits(one.Metadata); got != want {
					t.Errorf("metadata %.40s: a search for %v finds %s: %t, want %t", metadata, label, one.ID, got, want)
				}
			}
		}
	}
	wantVideo(t, st, other)
	if n := indexed(t, st); n != 1 {
		t.Errorf("the index has %d rows, want only the row of the other video", n)
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return b.String()
}

func contains(all []video.Video, id video.ID) bool {
	for _, v := range all {
		if v.ID == id {
			return true
		}
	}
	return false
}
