package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func eventTests() []test {
	return []test{
		{"each change of a status is one event", changesAreEvents},
		{"an event has the state at the commit", eventHasState},
		{"a video becomes playable once", playableOnce},
		{"a video becomes playable once, whatever is deleted", playableOnceWithout},
		{"a refusal for the same reason is one event", refusedOnce},
		{"nothing is recorded without a webhook that wants it", unwantedEvents},
		{"a transaction that fails records nothing", rolledBackEvents},
	}
}

// hook stores a webhook of the default tenant.
func hook(t *testing.T, st *store.Store, events ...video.EventType) store.Webhook {
	t.Helper()
	h := store.Webhook{ID: uuid.NewString(), Tenant: video.DefaultTenant, URL: "https://example.com", Events: events, Enabled: true, CreatedAt: noon}
	insertHook(t, st, h)
	return h
}

func insertHook(t *testing.T, st *store.Store, h store.Webhook) {
	t.Helper()
	if ok, err := store.WebhooksOf(st).Insert(t.Context(), h, "whsec_"+h.ID, 100); err != nil || !ok {
		t.Fatalf("insert webhook: %t, %v", ok, err)
	}
}

// log returns the deliveries to a webhook, oldest first.
func log(t *testing.T, st *store.Store, h store.Webhook) []store.Delivery {
	t.Helper()
	all, err := store.WebhooksOf(st).Deliveries(t.Context(), h.ID, "", video.Cursor{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

// eventsOf returns the events that were recorded for a webhook, oldest first.
func eventsOf(t *testing.T, st *store.Store, h store.Webhook) []store.Event {
	t.Helper()
	var ids []string
	for _, d := range log(t, st, h) {
		ids = append(ids, d.Event)
	}
	found, err := store.WebhooksOf(st).Events(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	var all []store.Event
	for _, id := range ids {
		all = append(all, found[id])
	}
	return all
}

func typesOf(all []store.Event) []video.EventType {
	var types []video.EventType
	for _, e := range all {
		types = append(types, e.Type)
	}
	return types
}

func changesAreEvents(t *testing.T, st *store.Store) {
	ctx, at := t.Context(), noon
	store.WebhooksOf(st).UseClock(func() time.Time { at = at.Add(time.Second); return at })
	h := hook(t, st)
	v, failed, expired, removed := newVideo("720p", "360p"), newVideo("720p"), newVideo(), stored(t, st, video.Fail)
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
		change(t, st, step)
	}
	if _, err := st.MarkFailedUploads(ctx, noon.Add(2*time.Hour), noon, 1); err != nil {
		t.Fatal(err)
	}
	want := []video.EventType{
		video.EventUploadCompleted, video.EventPlayable, video.EventResolutionReady, video.EventResolutionReady, video.EventReady, video.EventFailed,
		video.EventDeleted, video.EventFailed, video.EventFailed, video.EventDeleted,
	}
	if diff := cmp.Diff(want, typesOf(eventsOf(t, st, h))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	_ = removed
}

// playableOnce checks that a video that is played while it is encoded becomes playable once.
func playableOnce(t *testing.T, st *store.Store) {
	h := hook(t, st)
	v := stored(t, st, video.Processing, "720p", "360p")
	change(t, st, func(tx *store.Tx) error {
		return tx.SetFindings(t.Context(), v.ID, store.Findings{Playable: noon})
	})
	change(t, st, func(tx *store.Tx) error {
		return tx.MoveResolution(t.Context(), v.Resolutions[0].ID, video.Ready, nil)
	})
	want := []video.EventType{video.EventPlayable, video.EventResolutionReady}
	if diff := cmp.Diff(want, typesOf(eventsOf(t, st, h))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// playableOnceWithout checks that a video whose only resolution is deleted does not become playable again.
func playableOnceWithout(t *testing.T, st *store.Store) {
	h := hook(t, st)
	v := stored(t, st, video.Processing, "720p", "360p")
	for _, r := range v.Resolutions {
		change(t, st, func(tx *store.Tx) error { return tx.MoveResolution(t.Context(), r.ID, video.Ready, nil) })
		change(t, st, func(tx *store.Tx) error { return tx.RemoveResolution(t.Context(), r.ID) })
	}
	want := []video.EventType{video.EventPlayable, video.EventResolutionReady, video.EventResolutionReady}
	if diff := cmp.Diff(want, typesOf(eventsOf(t, st, h))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// refusedOnce checks that repeated refusals for the same reason are one event.
func refusedOnce(t *testing.T, st *store.Store) {
	h := hook(t, st)
	v := newVideo("720p")
	insert(t, st, v)
	for _, f := range []*video.Failure{
		video.Failf(video.UploadMissing, "Nothing."), video.Failf(video.UploadMissing, "Still nothing."),
		video.Failf(video.UploadEmpty, "Empty."), video.Failf(video.UploadEmpty, "Empty."), video.Failf(video.UploadMissing, "Nothing."),
	} {
		refuse(t, st, v.ID, f, true)
	}
	want := []video.EventType{video.EventFailed, video.EventFailed, video.EventFailed}
	if diff := cmp.Diff(want, typesOf(eventsOf(t, st, h))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func wantTrue(ok bool) error {
	if !ok {
		return errors.New("want the opposite")
	}
	return nil
}

func eventHasState(t *testing.T, st *store.Store) {
	ctx := t.Context()
	store.WebhooksOf(st).UseClock(func() time.Time { return noon })
	h := hook(t, st)
	v := stored(t, st, video.Processing, "720p", "360p")
	change(t, st, func(tx *store.Tx) error {
		return errors.Join(
			tx.SetFindings(ctx, v.ID, store.Findings{Plan: &video.Plan{Duration: time.Minute, Renditions: []video.Rendition{{Names: []video.Name{"720p"}}}, Chunks: make([]video.Chunk, 100)}}),
			tx.InsertSteps(ctx, v.ID, []store.Step{{Kind: "encode", Number: 1, Weight: 1}, {Kind: "encode", Number: 2, Weight: 1}, {Kind: store.PerRendition, Weight: 1}}),
			tx.MoveResolution(ctx, v.Resolutions[0].ID, video.Ready, nil),
			tx.SetOutput(ctx, video.Resolution{ID: v.Resolutions[0].ID, Width: 1280, Height: 720}), // after the event
		)
	})
	events := eventsOf(t, st, h)
	if len(events) != 2 || events[0].Type != video.EventPlayable {
		t.Fatalf("events are %v; want that it is playable, and the resolution ready", typesOf(events))
	}
	e := events[1]
	got := e.Snapshot.Video
	if e.Video != v.ID || !e.CreatedAt.Equal(noon) || e.Snapshot.Resolution != "720p" || got.ID != v.ID || got.Duration != time.Minute || got.Filename != v.Filename {
		t.Errorf("the event is %+v", e)
	}
	if r := got.Resolutions[0]; r.Status != video.Ready || r.Width != 1280 || got.Resolutions[1].Status != video.Processing {
		t.Errorf("its resolutions are %+v; want them as they were committed", got.Resolutions)
	}
	if got.Plan.RenditionOf("720p") != 0 || len(got.Plan.Chunks) > 0 || len(e.Snapshot.Steps) != 2 {
		t.Errorf("it has %d chunks and %d steps; want only what the progress is derived from", len(got.Plan.Chunks), len(e.Snapshot.Steps))
	}
}

func unwantedEvents(t *testing.T, st *store.Store) {
	ctx := t.Context()
	only := hook(t, st, video.EventReady, video.EventDeleted)
	off, foreign := only, only
	off.ID, off.Events, off.Enabled = uuid.NewString(), nil, false
	foreign.ID, foreign.Events, foreign.Tenant = uuid.NewString(), nil, "other"
	insertHook(t, st, off)
	insertHook(t, st, foreign)
	v := stored(t, st, video.Processing, "720p")
	change(t, st, func(tx *store.Tx) error {
		return errors.Join(tx.MoveResolution(ctx, v.Resolutions[0].ID, video.Ready, nil), tx.MoveVideo(ctx, v.ID, video.Ready, nil))
	})
	if got := typesOf(eventsOf(t, st, only)); !slices.Equal(got, []video.EventType{video.EventReady}) {
		t.Errorf("a webhook for some events got %v", got)
	}
	for _, h := range []store.Webhook{off, foreign} {
		if all := log(t, st, h); len(all) > 0 {
			t.Errorf("%+v got %+v", h, all)
		}
	}
}

func rolledBackEvents(t *testing.T, st *store.Store) {
	h := hook(t, st)
	v := stored(t, st, video.Processing)
	broken := errors.New("broken")
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.MoveVideo(t.Context(), v.ID, video.Ready, nil), broken)
	})
	if !errors.Is(err, broken) || len(log(t, st, h)) > 0 {
		t.Errorf("%v; events: %v", err, log(t, st, h))
	}
}
