package webhook

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// eventsOf returns the events that were recorded for a webhook, oldest first.
func eventsOf(t *testing.T, r *rowsLab, h Webhook) []eventRow {
	t.Helper()
	var ids []string
	for _, d := range logOf(t, r, h) {
		ids = append(ids, d.Event)
	}
	found, err := eventsByID(t.Context(), r.store.Queries, ids)
	if err != nil {
		t.Fatal(err)
	}
	var all []eventRow
	for _, id := range ids {
		all = append(all, found[id])
	}
	return all
}

func typesOf(all []eventRow) []video.EventType {
	var types []video.EventType
	for _, e := range all {
		types = append(types, e.Type)
	}
	return types
}

func eventHasState(t *testing.T, r *rowsLab) {
	ctx := t.Context()
	r.store.UseClock(func() time.Time { return noon })
	h := hook(t, r)
	v := insertVideo(t, r, "720p", "360p")
	change(t, r, func(tx *store.Tx) error {
		return errors.Join(
			tx.SetFindings(ctx, v.ID, store.Findings{Plan: &video.Plan{Duration: time.Minute, Renditions: []video.Rendition{{Names: []video.Name{"720p"}}}, Chunks: make([]video.Chunk, 100)}}),
			tx.InsertSteps(ctx, v.ID, []store.Step{{Kind: "encode", Number: 1, Weight: 1}, {Kind: "encode", Number: 2, Weight: 1}, {Kind: pipeline.PerRendition(), Weight: 1}}),
			tx.MoveResolution(ctx, v.Resolutions[0].ID, video.Ready, nil),
			tx.SetOutput(ctx, video.Resolution{ID: v.Resolutions[0].ID, Width: 1280, Height: 720}), // after the event
		)
	})
	events := eventsOf(t, r, h)
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

func unwantedEvents(t *testing.T, r *rowsLab) {
	ctx := t.Context()
	only := hook(t, r, video.EventReady, video.EventDeleted)
	off, foreign := newHook(), newHook()
	off.Enabled, foreign.Tenant = false, "other"
	insertHook(t, r, off)
	insertHook(t, r, foreign)
	v := insertVideo(t, r, "720p")
	change(t, r, func(tx *store.Tx) error {
		return errors.Join(tx.MoveResolution(ctx, v.Resolutions[0].ID, video.Ready, nil), tx.MoveVideo(ctx, v.ID, video.Ready, nil))
	})
	if got := typesOf(eventsOf(t, r, only)); !slices.Equal(got, []video.EventType{video.EventReady}) {
		t.Errorf("a webhook for some events got %v", got)
	}
	for _, h := range []Webhook{off, foreign} {
		if all := logOf(t, r, h); len(all) > 0 {
			t.Errorf("%+v got %+v", h, all)
		}
	}
}
