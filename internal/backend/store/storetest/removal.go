package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func removalTests() []test {
	return []test{
		{"a video that is being deleted is marked and listed", deletionIsMarked},
		{"a removed video leaves nothing", removalLeavesNothing},
		{"a removed resolution leaves the others", resolutionIsRemoved},
		{"an added resolution comes last", resolutionIsAdded},
		{"a video can lose its last resolution", lastResolutionIsRemoved},
	}
}

func deletionIsMarked(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v, other, third := Stored(t, st, video.Processing, "720p"), Stored(t, st, video.Ready, "720p"), Stored(t, st, video.Fail)
	deleted, err := st.MarkedDeleted(ctx)
	wantIDs(t, deleted, err)
	for i, id := range []video.ID{v.ID, third.ID, v.ID} { // the second mark on a video changes nothing
		Change(t, st, func(tx *store.Tx) error {
			return tx.MarkDeleted(ctx, id, noon.Add(time.Duration(i)*time.Second))
		})
	}
	v.DeletedAt, third.DeletedAt = noon, noon.Add(time.Second)
	for _, want := range []video.Video{v, other, third} {
		wantVideo(t, st, want)
	}
	deleted, err = st.MarkedDeleted(ctx)
	slices.Sort(deleted)
	want := []video.ID{v.ID, third.ID}
	slices.Sort(want)
	wantIDs(t, deleted, err, want...)

	Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) })
	deleted, err = st.MarkedDeleted(ctx)
	wantIDs(t, deleted, err, third.ID)
}

func removalLeavesNothing(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v, other := Stored(t, st, video.Processing, "720p", "144p"), Stored(t, st, video.Processing, "720p")
	for _, id := range []video.ID{v.ID, other.ID} {
		Change(t, st, func(tx *store.Tx) error { return tx.InsertSteps(ctx, id, encodeSteps(3)) })
	}
	Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) })

	wantNoVideo(t, st, v.ID)
	for _, r := range v.Resolutions {
		_, err := st.VideoOf(ctx, r.ID)
		wantCode(t, err, video.NotFound, "resolution_not_found")
	}
	wantSteps(t, st, v.ID)
	wantVideo(t, st, other)
	wantSteps(t, st, other.ID, encodeSteps(3)...)

	Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) }) // again, which is no error
	insert(t, st, v)                                                             // nothing is in the way of the same ids
	wantVideo(t, st, v)
	wantSteps(t, st, v.ID)
}

func resolutionIsRemoved(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.Ready, "720p", "144p", "4k")
	gone := v.Resolutions[1].ID
	Change(t, st, func(tx *store.Tx) error { return tx.RemoveResolution(ctx, gone) })
	v.Resolutions = slices.Delete(v.Resolutions, 1, 2)
	wantVideo(t, st, v)

	err := st.InTx(ctx, func(tx *store.Tx) error { return tx.RemoveResolution(ctx, gone) })
	wantCode(t, err, video.NotFound, "resolution_not_found")
	_, err = st.VideoOf(ctx, gone)
	wantCode(t, err, video.NotFound, "resolution_not_found")
	wantVideo(t, st, v)
}

func resolutionIsAdded(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.Ready, "720p", "144p", "4k")
	Change(t, st, func(tx *store.Tx) error { return tx.RemoveResolution(ctx, v.Resolutions[0].ID) })
	v.Resolutions = v.Resolutions[1:]
	for _, name := range []video.Name{"720p", "240p"} {
		r := NewVideo(name).Resolutions[0]
		r.VideoID, r.Status, r.Failure = v.ID, video.Fail, &video.Failure{Code: video.Corrupt, Message: "It is broken."}
		Change(t, st, func(tx *store.Tx) error { return tx.InsertResolution(ctx, r) })
		v.Resolutions = append(v.Resolutions, r)
	}
	wantVideo(t, st, v)
}

func lastResolutionIsRemoved(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.Ready, "720p")
	Change(t, st, func(tx *store.Tx) error { return tx.RemoveResolution(ctx, v.Resolutions[0].ID) })
	v.Resolutions = nil
	wantVideo(t, st, v)
}
