package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func deliveryTests() []test {
	return []test{
		{"claimed once, concluded by its claim", claimOnce},
		{"a lease ends", leaseEnds},
		{"lanes show what is due first", lanesShowDue},
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

// lanes returns all lanes at a time.
func lanes(t *testing.T, st *store.Store, at time.Time) []store.Lane {
	t.Helper()
	all, err := store.WebhooksOf(st).Lanes(t.Context(), "", at, 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// claim claims a delivery, and reports whether it could.
func claim(t *testing.T, st *store.Store, id string, at time.Time) (store.Delivery, bool) {
	t.Helper()
	got, err := store.WebhooksOf(st).Claim(t.Context(), []string{id}, uuid.NewString(), at, at.Add(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		return store.Delivery{}, false
	}
	return got[0], true
}

func conclude(t *testing.T, st *store.Store, c store.Conclusion) {
	t.Helper()
	if err := store.WebhooksOf(st).Conclude(t.Context(), []store.Conclusion{c}); err != nil {
		t.Fatal(err)
	}
}

func claimOnce(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	id := log(t, st, h)[0].ID
	if _, ok := claim(t, st, id, noon.Add(-time.Second)); ok {
		t.Error("claimed before it was due")
	}
	d, ok := claim(t, st, id, noon)
	if !ok {
		t.Fatal("a due delivery cannot be claimed")
	}
	if _, ok := claim(t, st, id, noon); ok {
		t.Error("claimed twice")
	}
	attempt := store.DeliveryAttempt{At: noon, Status: 500, Error: "no", Milliseconds: 7}
	next := noon.Add(time.Minute)
	conclude(t, st, store.Conclusion{Delivery: d, Attempt: attempt, State: store.DeliveryPending, NextAt: next, Tries: 1})
	got := log(t, st, h)[0]
	if len(got.Attempts) != 1 || got.Attempts[0] != attempt || !got.NextAt.Equal(next) || got.Tries != 1 || got.Lease != "" {
		t.Errorf("after a failure: %+v", got)
	}
	d, _ = claim(t, st, id, next)
	conclude(t, st, store.Conclusion{Delivery: d, Attempt: store.DeliveryAttempt{At: next, Status: 204}, State: store.DeliveryDelivered, Tries: 2})
	if got = log(t, st, h)[0]; got.State != store.DeliveryDelivered || len(got.Attempts) != 2 || !got.NextAt.IsZero() {
		t.Errorf("after a success: %+v", got)
	}
	if _, ok := claim(t, st, id, next.Add(time.Hour)); ok {
		t.Error("claimed after it was delivered")
	}
}

func leaseEnds(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	id := log(t, st, h)[0].ID
	first, _ := claim(t, st, id, noon)
	second, ok := claim(t, st, id, noon.Add(20*time.Second))
	if !ok {
		t.Fatal("the lease did not end")
	}
	conclude(t, st, store.Conclusion{Delivery: first, State: store.DeliveryFailed})
	if got := log(t, st, h)[0]; got.State != store.DeliveryPending || got.Lease != second.Lease {
		t.Errorf("the former holder could conclude: %+v", got)
	}
	conclude(t, st, store.Conclusion{Delivery: second, Released: true, State: store.DeliveryPending, NextAt: noon})
	if got := log(t, st, h)[0]; len(got.Attempts) > 0 || !got.NextAt.Equal(noon) {
		t.Errorf("released: %+v", got)
	}
	if _, ok := claim(t, st, id, noon); !ok {
		t.Fatal("a released delivery cannot be claimed")
	}
	if err := store.WebhooksOf(st).ReleaseLeases(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	if _, ok := claim(t, st, id, noon); ok != st.SingleWriter() {
		t.Errorf("claimed after a start: %t; want that only where one process owns the database", ok)
	}
}

func lanesShowDue(t *testing.T, st *store.Store) {
	if next, err := store.WebhooksOf(st).NextDelivery(t.Context()); err != nil || !next.IsZero() || len(lanes(t, st, noon)) > 0 {
		t.Errorf("an empty store has something due: %v, %v", next, err)
	}
	hooks := []store.Webhook{hook(t, st), hook(t, st), hook(t, st)}
	slices.SortFunc(hooks, func(a, b store.Webhook) int { return compareStrings(a.ID, b.ID) })
	deliverAt(t, st, noon)
	deliverAt(t, st, noon.Add(time.Minute))
	first := log(t, st, hooks[1])[0]
	claim(t, st, first.ID, noon)

	got := lanes(t, st, noon)
	if len(got) != 3 || got[0].Head != log(t, st, hooks[0])[0].ID || got[1].Head != "" || got[0].Tenant != video.DefaultTenant {
		t.Errorf("at noon: %+v", got)
	}
	got = lanes(t, st, noon.Add(2*time.Minute))
	if len(got) != 3 || got[1].Head != first.ID {
		t.Errorf("later: %+v; want the oldest of each", got)
	}
	after, err := store.WebhooksOf(st).Lanes(t.Context(), hooks[0].ID, noon, 1)
	if err != nil || len(after) != 1 || after[0].Webhook != hooks[1].ID {
		t.Errorf("one after the first: %+v, %v", after, err)
	}
	next, err := store.WebhooksOf(st).NextDelivery(t.Context())
	oldest, err2 := store.WebhooksOf(st).OldestPending(t.Context())
	if err != nil || err2 != nil || !next.Equal(noon) || !oldest.Equal(noon) {
		t.Errorf("next %v, oldest %v; %v, %v", next, oldest, err, err2)
	}
}

func compareStrings(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func goneDisables(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	deliver(t, st)
	d, _ := claim(t, st, log(t, st, h)[0].ID, noon)
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
	if len(lanes(t, st, noon)) > 0 {
		t.Error("somebody would send what is fetched")
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
	d, _ := claim(t, st, log(t, st, h)[0].ID, noon)
	conclude(t, st, store.Conclusion{Delivery: d, State: store.DeliveryFailed, Attempt: store.DeliveryAttempt{At: noon, Status: 500}, Tries: 10})
	later := noon.Add(time.Hour)
	if err := store.WebhooksOf(st).Replay(t.Context(), h, d.ID, later); err != nil {
		t.Fatal(err)
	}
	if got := log(t, st, h)[0]; got.State != store.DeliveryPending || got.Tries != 0 || len(got.Attempts) != 1 || !got.NextAt.Equal(later) {
		t.Errorf("replayed: %+v", got)
	}
	if err := store.WebhooksOf(st).Replay(t.Context(), h, "nothing", later); video.KindOf(err) != video.NotFound {
		t.Errorf("what does not exist: %v", err)
	}
}

func deliveryPages(t *testing.T, st *store.Store) {
	h := hook(t, st)
	for i := range 5 {
		deliverAt(t, st, noon.Add(time.Duration(i/2)*time.Second)) // some at the same moment
	}
	d, _ := claim(t, st, log(t, st, h)[0].ID, noon.Add(time.Hour))
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
