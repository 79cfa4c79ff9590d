package webhook

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

// noon is a time that the store can keep exactly.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// rowsLab is the webhooks of an empty database, and the tasks that they have enqueued.
type rowsLab struct {
	rows
	tasks *taskList
}

// taskList is a queue that keeps what is enqueued, in committed transactions and others.
type taskList struct {
	queue.Queue
	all []queue.Task
}

func (l *taskList) Enqueue(_ context.Context, _ queue.Tx, tasks ...queue.Task) error {
	l.all = append(l.all, tasks...)
	return nil
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *rowsLab)
	}{
		{"a webhook is changed and read back", webhookRoundTrip},
		{"a tenant has only so many", webhookLimit},
		{"secrets are rotated", secretsRotate},
		{"secrets are rotated at once", secretsRotateAtOnce},
		{"changed while it is disabled", changedWhileDisabled},
		{"removed with its log", webhookRemoved},
		{"disabling ends deliveries", disablingEnds},
		{"disabling with many deliveries", disablingMany},
		{"an event has the state at the commit", eventHasState},
		{"nothing is recorded without a webhook that wants it", unwantedEvents},
		{"each delivery is sent by the transaction that records it", sentDeliveries},
		{"concluded", concluded},
		{"gone disables", goneDisables},
		{"held for those who fetch", heldDeliveries},
		{"replayed", replayed},
		{"listed in pages", deliveryPages},
		{"old deliveries are removed", oldDeliveries},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, st *store.Store) {
				tasks := new(taskList)
				Record(st, tasks)
				tt.run(t, &rowsLab{rows{st, recorder{tasks}}, tasks})
			})
		})
	}
}

func TestRowsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx, q, tasks := t.Context(), tx.Queries, new(taskList)
		r := rows{record: recorder{tasks}}
		v := newVideo()
		events := []store.Event{{Type: video.EventReady, Video: v.ID}}
		h := newHook()
		_, err := insertWebhook(ctx, tx, h, "s", 20)
		err = errors.Join(err, tx.InsertVideo(ctx, v), r.record.recordEvents(ctx, tx, events, noon))
		try := func(_ any, e error) { err = errors.Join(err, e) }
		try(webhooksOf(ctx, q, h.Tenant))
		try(webhooksByID(ctx, q, []string{h.ID, "x"}))
		try(secretsOf(ctx, q, []string{h.ID, "x"}, noon))
		try(eventsByID(ctx, q, []string{"a", "b"}))
		for _, state := range []State{"", Failed} {
			for _, after := range []video.Cursor{{}, {CreatedAt: noon, ID: "x"}} {
				try(listDeliveries(ctx, q, h.ID, state, after, 10))
			}
		}
		deliveries, errList := listDeliveries(ctx, q, h.ID, "", video.Cursor{}, 10)
		if err := errors.Join(err, errList); err != nil || len(deliveries) != 1 {
			t.Fatalf("%d deliveries, %v; want one", len(deliveries), err)
		}
		try(findDelivery(ctx, q, h.Tenant, deliveries[0].ID))
		try(pendingDelivery(ctx, q, deliveries[0].ID, ""))
		try(oldestPending(ctx, q))
		try(claimHeld(ctx, tx, h.ID, 10, "lease", noon, noon))
		try(hasOpen(ctx, q, h, 100))
		try(nil, r.record.conclude(ctx, tx, conclusion{Delivery: deliveries[0], State: Failed, Disable: "gone"}))
		try(cleanUpStep(ctx, tx, h.ID, 10))
		_, _, errUpdate := r.updateWebhook(ctx, tx, h.Tenant, h.ID, func(h *Webhook) { h.Enabled = true })
		try(nil, errUpdate)
		try(removeDeliveries(ctx, tx, h.ID, 10))
		try(removeOld(ctx, tx, noon, 10))
		return err
	})
}

func newHook(events ...video.EventType) Webhook {
	return Webhook{ID: uuid.NewString(), Tenant: video.DefaultTenant, URL: "https://example.com", Events: events, Enabled: true, CreatedAt: noon}
}

// hook stores a webhook of the default tenant.
func hook(t *testing.T, r *rowsLab, events ...video.EventType) Webhook {
	t.Helper()
	h := newHook(events...)
	insertHook(t, r, h)
	return h
}

func insertHook(t *testing.T, r *rowsLab, h Webhook) {
	t.Helper()
	if ok, err := r.insert(t.Context(), h, "whsec_"+h.ID, 100); err != nil || !ok {
		t.Fatalf("insert a webhook: %t, %v", ok, err)
	}
}

// newVideo returns a video that is processed, with a resolution for each name.
func newVideo(names ...video.Name) video.Video {
	v := video.Video{
		ID: video.ID(uuid.NewString()), Tenant: video.DefaultTenant, Filename: "film.mp4", Status: video.Processing,
		CreatedAt: noon, UploadExpiresAt: noon.Add(time.Hour),
	}
	for _, n := range names {
		v.Resolutions = append(v.Resolutions, video.Resolution{ID: video.ResolutionID(uuid.NewString()), VideoID: v.ID, Name: n, Status: video.Processing})
	}
	return v
}

// change runs f in a transaction that has to succeed.
func change(t *testing.T, r *rowsLab, f func(*store.Tx) error) {
	t.Helper()
	if err := r.store.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// insertVideo stores a new video that is processed.
func insertVideo(t *testing.T, r *rowsLab, names ...video.Name) video.Video {
	t.Helper()
	v := newVideo(names...)
	change(t, r, func(tx *store.Tx) error { return tx.InsertVideo(t.Context(), v) })
	return v
}

// logOf returns the deliveries to a webhook, oldest first.
func logOf(t *testing.T, r *rowsLab, h Webhook) []deliveryRow {
	t.Helper()
	all, err := listDeliveries(t.Context(), r.store.Queries, h.ID, "", video.Cursor{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}
