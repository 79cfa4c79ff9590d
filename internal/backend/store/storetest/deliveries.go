package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func deliveryTests() []test {
	return []test{
		{"each is sent by the transaction that records it", sentDeliveries},
		{"concluded", concluded},
		{"gone disables", goneDisables},
		{"held for those who fetch", heldDeliveries},
		{"replayed", replayed},
		{"listed in pages", deliveryPages},
		{"old ones are removed", oldDeliveries},
	}
}

// deliver records one event at noon.
func deliver(t *testing.T, st *store.Store) {
	t.Helper()
	deliverAt(t, st, noon)
}

func deliverAt(t *testing.T, st *store.Store, at time.Time) {
	t.Helper()
	store.WebhooksOf(st).UseClock(func() time.Time { return at })
	v := stored(t, st, video.Processing)
	change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(t.Context(), v.ID, video.Ready, nil) })
}

// conclude records a try of the newest delivery to a webhook.
func conclude(t *testing.T, st *store.Store, c store.Conclusion) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error { return tx.Conclude(t.Context(), c) })
}

// pending returns a delivery that is to be sent.
func pending(t *testing.T, st *store.Store, id, replay string) []store.Delivery {
	t.Helper()
	found, err := store.WebhooksOf(st).Pending(t.Context(), id, replay)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sentDeliveries(t *testing.T, st *store.Store) {
	var sent []store.Delivery
	store.WebhooksOf(st).OnDeliveries(func(_ context.Context, _ *store.Tx, all []store.Delivery) error {
		sent = append(sent, all...)
		return nil
	})
	h := hook(t, st)
	insertHook(t, st, store.Webhook{ID: uuid.NewString(), Tenant: video.DefaultTenant, Pull: true, Enabled: true, CreatedAt: noon})
	deliver(t, st)
	if len(sent) != 1 || sent[0].Webhook != h.ID || sent[0].Tenant != h.Tenant || sent[0].ID != log(t, st, h)[0].ID || sent[0].Lease != "" {
		t.Fatalf("sent are %+v; want the one that is not held", sent)
	}
	if err := store.WebhooksOf(st).Replay(t.Context(), h, sent[0].ID, "again", noon); err != nil {
		t.Fatal(err)
	}
	if len(sent) != 2 || sent[1].ID != sent[0].ID || sent[1].Lease != "again" {
		t.Errorf("sent are %+v; want the replay as well", sent)
	}
	if n := len(pending(t, st, sent[0].ID, "")); n != 0 {
		t.Error("what was sent before the replay is still to be sent")
	}
	if n := len(pending(t, st, sent[0].ID, "again")); n != 1 {
		t.Error("the replay is not to be sent")
	}
	oldest, err := store.WebhooksOf(st).OldestPending(t.Context())
	if err != nil || !oldest.Equal(noon) {
		t.Errorf("the oldest is of %v, %v", oldest, err)
	}
}

func concluded(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	d := pending(t, st, log(t, st, h)[0].ID, "")[0]
	attempt := store.DeliveryAttempt{At: noon, Status: 500, Error: "no", Milliseconds: 7}
	next := noon.Add(time.Minute)
	conclude(t, st, store.Conclusion{Delivery: d, Attempt: attempt, State: store.DeliveryPending, NextAt: next, Tries: 1})
	got := log(t, st, h)[0]
	if len(got.Attempts) != 1 || got.Attempts[0] != attempt || !got.NextAt.Equal(next) || got.Tries != 1 {
		t.Errorf("after a failure: %+v", got)
	}
	conclude(t, st, store.Conclusion{Delivery: got, Attempt: store.DeliveryAttempt{At: next, Status: 204}, State: store.DeliveryDelivered, Tries: 2})
	ended := log(t, st, h)[0]
	if ended.State != store.DeliveryDelivered || len(ended.Attempts) != 2 || !ended.NextAt.IsZero() {
		t.Errorf("after a success: %+v", ended)
	}
	conclude(t, st, store.Conclusion{Delivery: got, Attempt: attempt, State: store.DeliveryFailed})
	if again := log(t, st, h)[0]; again.State != store.DeliveryDelivered || len(again.Attempts) != 2 {
		t.Errorf("what had ended was changed: %+v", again)
	}
}

func goneDisables(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	deliver(t, st)
	d := log(t, st, h)[0]
	conclude(t, st, store.Conclusion{Delivery: d, State: store.DeliveryFailed, Attempt: store.DeliveryAttempt{Status: 410}, Disable: "Gone."})
	got, err := store.WebhooksOf(st).Get(t.Context(), h.Tenant, h.ID)
	if err != nil || got.Enabled || got.DisabledReason != "Gone." {
		t.Errorf("the webhook is %+v, %v", got, err)
	}
	for _, d := range log(t, st, h) {
		if d.State != store.DeliveryFailed {
			t.Errorf("still %s: %+v", d.State, d)
		}
	}
}

func heldDeliveries(t *testing.T, st *store.Store) {
	h := store.Webhook{ID: uuid.NewString(), Tenant: video.DefaultTenant, Pull: true, Enabled: true, CreatedAt: noon}
	insertHook(t, st, h)
	for range 3 {
		deliver(t, st)
	}
	got, err := store.WebhooksOf(st).ClaimHeld(t.Context(), h.ID, 2, "lease", noon, noon.Add(time.Minute))
	rest, err2 := store.WebhooksOf(st).ClaimHeld(t.Context(), h.ID, 2, "other", noon, noon.Add(time.Minute))
	if err != nil || err2 != nil || len(got) != 2 || len(rest) != 1 || got[0].Lease != "lease" {
		t.Errorf("fetched %+v, %v, then %+v, %v", got, err, rest, err2)
	}
}

func replayed(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	d := log(t, st, h)[0]
	conclude(t, st, store.Conclusion{Delivery: d, State: store.DeliveryFailed, Attempt: store.DeliveryAttempt{At: noon, Status: 500}, Tries: 10})
	later := noon.Add(time.Hour)
	if err := store.WebhooksOf(st).Replay(t.Context(), h, d.ID, "replay", later); err != nil {
		t.Fatal(err)
	}
	if got := log(t, st, h)[0]; got.State != store.DeliveryPending || got.Tries != 0 || len(got.Attempts) != 1 || !got.NextAt.Equal(later) {
		t.Errorf("replayed: %+v", got)
	}
	if err := store.WebhooksOf(st).Replay(t.Context(), h, "nothing", "replay", later); video.KindOf(err) != video.NotFound {
		t.Errorf("what does not exist: %v", err)
	}
}

func deliveryPages(t *testing.T, st *store.Store) {
	h := hook(t, st)
	for i := range 5 {
		deliverAt(t, st, noon.Add(time.Duration(i/2)*time.Second)) // some at the same moment
	}
	d := log(t, st, h)[0]
	conclude(t, st, store.Conclusion{Delivery: d, State: store.DeliveryDelivered})
	for state, want := range map[store.DeliveryState]int{"": 5, store.DeliveryPending: 4, store.DeliveryDelivered: 1, store.DeliveryFailed: 0} {
		var seen []string
		var after video.Cursor
		for {
			page, err := store.WebhooksOf(st).Deliveries(t.Context(), h.ID, state, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				seen = append(seen, d.ID)
			}
			last := page[len(page)-1]
			after = video.Cursor{CreatedAt: last.CreatedAt, ID: video.ID(last.ID)}
		}
		slices.Sort(seen)
		if len(slices.Compact(seen)) != want {
			t.Errorf("%q: %d deliveries; want %d", state, len(seen), want)
		}
	}
}

func oldDeliveries(t *testing.T, st *store.Store) {
	h := hook(t, st)
	for i := range 3 {
		deliverAt(t, st, noon.Add(time.Duration(i)*time.Hour))
	}
	more, err := store.WebhooksOf(st).RemoveOld(t.Context(), noon.Add(2*time.Hour), 1)
	if err != nil || !more || len(log(t, st, h)) != 2 {
		t.Errorf("RemoveOld = %t, %v; left %d", more, err, len(log(t, st, h)))
	}
	if more, err = store.WebhooksOf(st).RemoveOld(t.Context(), noon.Add(2*time.Hour), 10); err != nil || more || len(log(t, st, h)) != 1 {
		t.Errorf("RemoveOld = %t, %v; left %d", more, err, len(log(t, st, h)))
	}
}
