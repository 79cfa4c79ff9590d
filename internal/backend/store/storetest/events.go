package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func eventTests() []test {
	return []test{
		{"each change of a status is one event", changesAreEvents},
		{"an event says what it is about", eventOfAResolution},
		{"a video becomes playable once", playableOnce},
		{"a video becomes playable once, whatever is deleted", playableOnceWithout},
		{"a refusal for the same reason is one event", refusedOnce},
		{"a transaction that fails has no events", rolledBackEvents},
		{"the expiry of a video is told once", expiryToldOnce},
	}
}

// eventsOf returns the events that a store emits from now on. Their time has to be noon.
func eventsOf(t *testing.T, st *store.Store) *[]store.Event {
	t.Helper()
	st.UseClock(func() time.Time { return noon })
	all := new([]store.Event)
	st.OnEvents(func(_ context.Context, _ *store.Tx, emitted []store.Event, at time.Time) error {
		if !at.Equal(noon) {
			t.Errorf("the events happen at %s; want noon", at)
		}
		*all = append(*all, emitted...)
		return nil
	})
	return all
}

// wantTypes wants the events of these types, in this order.
func wantTypes(t *testing.T, got []store.Event, want ...video.EventType) {
	t.Helper()
	var types []video.EventType
	for _, e := range got {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func changesAreEvents(t *testing.T, st *store.Store) {
	ctx, got := t.Context(), eventsOf(t, st)
	v, failed, expired := NewVideo("720p", "360p"), NewVideo("720p"), NewVideo()
	Stored(t, st, video.Fail)
	for _, v := range []video.Video{v, failed, expired} {
		insert(t, st, v)
	}
	steps := []func(tx *store.Tx) error{
		func(tx *store.Tx) error {
			ok, err := tx.AcceptUpload(ctx, v.ID, video.Source{Key: "k"}, noon)
			return errors.Join(err, wantTrue(ok))
		},
		func(tx *store.Tx) error {
			ok, err := tx.AcceptUpload(ctx, v.ID, video.Source{Key: "k"}, noon) // again: nothing changes
			return errors.Join(err, wantTrue(!ok))
		},
		func(tx *store.Tx) error { return tx.MoveResolution(ctx, v.Resolutions[0].ID, video.Ready, nil) },
		func(tx *store.Tx) error {
			return errors.Join(tx.MoveResolution(ctx, v.Resolutions[1].ID, video.Ready, nil), tx.MoveVideo(ctx, v.ID, video.Ready, nil))
		},
		func(tx *store.Tx) error { return tx.MoveVideo(ctx, v.ID, video.Processing, nil) },
		func(tx *store.Tx) error {
			return tx.MoveVideo(ctx, v.ID, video.Fail, video.Failf(video.Corrupt, "Broken."))
		},
		func(tx *store.Tx) error { return tx.MarkDeleted(ctx, v.ID, noon) },
		func(tx *store.Tx) error { return tx.MarkDeleted(ctx, v.ID, noon) },
		func(tx *store.Tx) error {
			_, err := tx.RefuseUpload(ctx, failed.ID, video.Failf(video.UploadEmpty, "Empty."))
			return err
		},
		func(tx *store.Tx) error {
			_, err := tx.ExpireUpload(ctx, expired.ID, noon.Add(2*time.Hour), video.Failf(video.UploadExpired, "Expired."))
			return err
		},
	}
	for _, step := range steps {
		Change(t, st, step)
	}
	if _, err := st.MarkFailedUploads(ctx, noon.Add(2*time.Hour), noon, 1); err != nil {
		t.Fatal(err)
	}
	wantTypes(t, *got, video.EventUploadCompleted, video.EventPlayable, video.EventResolutionReady, video.EventResolutionReady, video.EventReady, video.EventFailed,
		video.EventDeleted, video.EventFailed, video.EventFailed, video.EventDeleted)
}

// playableOnce checks that a video that is played while it is encoded becomes playable once.
func playableOnce(t *testing.T, st *store.Store) {
	got := eventsOf(t, st)
	v := Stored(t, st, video.Processing, "720p", "360p")
	Change(t, st, func(tx *store.Tx) error {
		return tx.SetFindings(t.Context(), v.ID, store.Findings{Playable: noon})
	})
	Change(t, st, func(tx *store.Tx) error {
		return tx.MoveResolution(t.Context(), v.Resolutions[0].ID, video.Ready, nil)
	})
	wantTypes(t, *got, video.EventPlayable, video.EventResolutionReady)
}

// playableOnceWithout checks that a video whose only resolution is deleted does not become playable again.
func playableOnceWithout(t *testing.T, st *store.Store) {
	got := eventsOf(t, st)
	v := Stored(t, st, video.Processing, "720p", "360p")
	for _, r := range v.Resolutions {
		Change(t, st, func(tx *store.Tx) error { return tx.MoveResolution(t.Context(), r.ID, video.Ready, nil) })
		Change(t, st, func(tx *store.Tx) error { return tx.RemoveResolution(t.Context(), r.ID) })
	}
	wantTypes(t, *got, video.EventPlayable, video.EventResolutionReady, video.EventResolutionReady)
}

// refusedOnce checks that repeated refusals for the same reason are one event.
func refusedOnce(t *testing.T, st *store.Store) {
	got := eventsOf(t, st)
	v := NewVideo("720p")
	insert(t, st, v)
	for _, f := range []*video.Failure{
		video.Failf(video.UploadMissing, "Nothing."), video.Failf(video.UploadMissing, "Still nothing."),
		video.Failf(video.UploadEmpty, "Empty."), video.Failf(video.UploadEmpty, "Empty."), video.Failf(video.UploadMissing, "Nothing."),
	} {
		refuse(t, st, v.ID, f, true)
	}
	wantTypes(t, *got, video.EventFailed, video.EventFailed, video.EventFailed)
}

func wantTrue(ok bool) error {
	if !ok {
		return errors.New("want the opposite")
	}
	return nil
}

// eventOfAResolution checks that an event says which video and which resolution it is about.
func eventOfAResolution(t *testing.T, st *store.Store) {
	got := eventsOf(t, st)
	v := Stored(t, st, video.Processing, "720p", "360p")
	Change(t, st, func(tx *store.Tx) error { return tx.MoveResolution(t.Context(), v.Resolutions[1].ID, video.Ready, nil) })
	want := []store.Event{{Type: video.EventPlayable, Video: v.ID}, {Type: video.EventResolutionReady, Video: v.ID, Resolution: "360p"}}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func rolledBackEvents(t *testing.T, st *store.Store) {
	got := eventsOf(t, st)
	v := Stored(t, st, video.Processing)
	broken := errors.New("broken")
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.MoveVideo(t.Context(), v.ID, video.Ready, nil), broken)
	})
	if !errors.Is(err, broken) || len(*got) > 0 {
		t.Errorf("%v; events: %v", err, *got)
	}
	st.OnEvents(func(context.Context, *store.Tx, []store.Event, time.Time) error { return broken })
	err = st.InTx(t.Context(), func(tx *store.Tx) error { return tx.MoveVideo(t.Context(), v.ID, video.Ready, nil) })
	if now := read(t, st, v.ID).Status; !errors.Is(err, broken) || now != video.Processing {
		t.Errorf("events that cannot be recorded: %v, and the video is %s; want it unchanged", err, now)
	}
}

// expiryToldOnce tells of videos from several sides at once, of one again after its time was changed, and of none
// that expires later, never, or was deleted.
func expiryToldOnce(t *testing.T, st *store.Store) {
	ctx, got := t.Context(), eventsOf(t, st)
	var mu sync.Mutex
	st.OnEvents(func(_ context.Context, _ *store.Tx, emitted []store.Event, _ time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		*got = append(*got, emitted...)
		return nil
	})
	var all []video.Video
	for _, at := range []time.Time{noon, noon.Add(-time.Hour), noon.Add(time.Millisecond), {}, noon} {
		v := NewVideo()
		v.ExpiresAt = at
		insert(t, st, v)
		all = append(all, v)
	}
	Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, all[4].ID, noon) })
	*got = nil
	broken := errors.New("broken")
	if err := st.InTx(ctx, func(tx *store.Tx) error { return errors.Join(tx.TellExpiringVideo(ctx, all[0].ID, noon), broken) }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	var sides sync.WaitGroup
	for range 4 {
		sides.Go(func() {
			if err := st.InTx(ctx, func(tx *store.Tx) error { _, err := tx.TellExpiring(ctx, noon, 10); return err }); err != nil {
				t.Error(err)
			}
		})
	}
	sides.Wait()
	wantTypes(t, *got, video.EventExpiring, video.EventExpiring)
	Change(t, st, func(tx *store.Tx) error {
		all[1].ExpiryTold = false
		return errors.Join(tx.StoreFields(ctx, &all[1], "expiry_told"), tx.TellExpiringVideo(ctx, all[1].ID, noon), tx.TellExpiringVideo(ctx, all[1].ID, noon))
	})
	wantTypes(t, *got, video.EventExpiring, video.EventExpiring, video.EventExpiring)
	ids, err := st.ExpiredVideos(ctx, noon, 10)
	wantIDs(t, ids, err, all[1].ID, all[0].ID)
}
