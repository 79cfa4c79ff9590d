package catalog

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// videosByID asks for videos of two tenants among many unknown ids. A video whose id is
// not asked for and one that is being deleted stay out. Only the video at
// work comes with its steps.
func videosByID(t *testing.T, st *store.Store) {
	mine := aged(t, st, 0, nil)
	theirs := aged(t, st, 0, func(v *video.Video) { v.Tenant, v.Status = "acme", video.Processing })
	aged(t, st, 0, nil)
	deleted := aged(t, st, 0, nil)
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), deleted, noon) })
	for _, id := range []video.ID{mine, theirs} {
		change(t, st, func(tx *store.Tx) error {
			return tx.InsertSteps(t.Context(), id, []store.Step{{Kind: "encode", Weight: 2}, {Kind: "encode", Number: 1, Weight: 1}})
		})
	}

	ids := []video.ID{mine, theirs, mine, deleted}
	for range 5_000 {
		ids = append(ids, video.ID(uuid.NewString()))
	}
	videos, sums, err := videosByIDs(t, st, ids)
	got, want := idsOf(videos), []video.ID{mine, theirs}
	slices.Sort(got)
	slices.Sort(want)
	wantIDs(t, got, err, want...)
	for _, v := range videos {
		wantVideo(t, st, v)
	}
	if len(sums) != 1 || len(sums[theirs]) != 1 || sums[theirs][0].Weight != 3 {
		t.Errorf("the sums are %v, want one of the weight 3 for %s", sums, theirs)
	}
	none, _, err := videosByIDs(t, st, nil)
	wantIDs(t, idsOf(none), err)
}
