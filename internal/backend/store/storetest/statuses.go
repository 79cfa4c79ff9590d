package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func statusTests() []test {
	return []test{
		{"a video takes every legal step and no other", walkVideo},
		{"a resolution takes every legal step and no other", walkResolution},
		{"what is not there takes no step", absentTakesNoStep},
		{"a status that does not exist is never stored", noUnknownStatus},
	}
}

// walkVideo tries each pair of statuses on a video of its own.
func walkVideo(t *testing.T, st *store.Store) {
	walk(t, st, func(v *video.Video, to video.Status, f *video.Failure) move {
		v.Status, v.Failure = to, f
		return func(ctx context.Context, tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, to, f) }
	})
}

// walkResolution does the same for the second resolution of a video.
func walkResolution(t *testing.T, st *store.Store) {
	st.UseClock(func() time.Time { return noon })
	walk(t, st, func(v *video.Video, to video.Status, f *video.Failure) move {
		r := &v.Resolutions[1]
		r.Status, r.Failure = to, f
		if to == video.Ready {
			v.PlayableAt = noon
		}
		return func(ctx context.Context, tx *store.Tx) error { return tx.MoveResolution(ctx, r.ID, to, f) }
	})
}

type move func(context.Context, *store.Tx) error

// walk takes, for each pair of statuses, the step that plan writes into v and
// returns. A legal step leads to that v; another is a Conflict and leaves the
// video as it was.
func walk(t *testing.T, st *store.Store, plan func(v *video.Video, to video.Status, f *video.Failure) move) {
	ctx := t.Context()
	for _, from := range video.Statuses {
		for _, to := range video.Statuses {
			before := Stored(t, st, from, "720p", "144p")
			after := read(t, st, before.ID)
			var f *video.Failure
			if to == video.Fail {
				f = video.Failf(video.Corrupt, "The file is broken.")
			}
			step := plan(&after, to, f)
			err := st.InTx(ctx, func(tx *store.Tx) error { return step(ctx, tx) })
			want := after
			if !from.CanBecome(to) {
				want = before
				wantCode(t, err, video.Conflict, "illegal_step")
			} else if err != nil {
				t.Errorf("from %s to %s: %v", from, to, err)
			}
			if diff := cmp.Diff(want, read(t, st, before.ID)); diff != "" {
				t.Errorf("from %s to %s (-want +got):\n%s", from, to, diff)
			}
		}
	}
}

func absentTakesNoStep(t *testing.T, st *store.Store) {
	ctx := t.Context()
	bystander := Stored(t, st, video.Processing, "720p")
	absent := NewVideo("720p")
	for _, to := range video.Statuses {
		Change(t, st, func(tx *store.Tx) error {
			wantCode(t, tx.MoveVideo(ctx, absent.ID, to, nil), video.Conflict, "illegal_step")
			wantCode(t, tx.MoveResolution(ctx, absent.Resolutions[0].ID, to, nil), video.Conflict, "illegal_step")
			return nil
		})
	}
	wantVideo(t, st, bystander)
}

func noUnknownStatus(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := NewVideo("720p")
	v.Status = "deleted"
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, v) }); err == nil {
		t.Error("a video with an unknown status was stored")
	}
	w := NewVideo("720p")
	w.Resolutions[0].Status = ""
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, w) }); err == nil {
		t.Error("a resolution without a status was stored")
	}
	u := Stored(t, st, video.Processing, "720p")
	Change(t, st, func(tx *store.Tx) error {
		wantCode(t, tx.MoveVideo(ctx, u.ID, "deleted", nil), video.Conflict, "illegal_step")
		return nil
	})
	wantVideo(t, st, u)
}
