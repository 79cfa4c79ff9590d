package storetest

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/store"
	"github.com/spool-video/spool/internal/video"
)

// videosByID asks for videos of two tenants among many ids that nobody has. One
// that nobody asked for and one that is being deleted stay out.
func videosByID(t *testing.T, st *store.Store) {
	mine := aged(t, st, 0, nil)
	theirs := aged(t, st, 0, func(v *video.Video) { v.Tenant = "acme" })
	aged(t, st, 0, nil)
	doomed := aged(t, st, 0, nil)
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), doomed, noon) })

	ids := []video.ID{mine, theirs, mine, doomed}
	for range 5_000 {
		ids = append(ids, video.ID(uuid.NewString()))
	}
	videos, err := st.VideosByID(t.Context(), ids)
	got, want := idsOf(videos), []video.ID{mine, theirs}
	slices.Sort(got)
	slices.Sort(want)
	wantIDs(t, got, err, want...)
	for _, v := range videos {
		wantVideo(t, st, v)
	}
	none, err := st.VideosByID(t.Context(), nil)
	wantIDs(t, idsOf(none), err)
}
