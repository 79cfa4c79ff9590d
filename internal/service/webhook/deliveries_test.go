package webhook

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// deliver records one event at noon.
func deliver(t *testing.T, r *rowsLab) {
	t.Helper()
	deliverAt(t, r, noon)
}

func deliverAt(t *testing.T, r *rowsLab, at time.Time) {
	t.Helper()
	r.store.UseClock(func() time.Time { return at })
	v := insertVideo(t, r)
	change(t, r, func(tx *store.Tx) error { return tx.MoveVideo(t.Context(), v.ID, video.Ready, nil) })
}

// conclude records a try of the newest delivery to a webhook.
func conclude(t *testing.T, r *rowsLab, c conclusion) {
	t.Helper()
	change(t, r, func(tx *store.Tx) error { return r.record.conclude(t.Context(), tx, c) })
}

// pending returns a delivery that is to be sent.
func pending(t *testing.T, r *rowsLab, id, replay string) []deliveryRow {
	t.Helper()
	found, err := pendingDelivery(t.Context(), r.store.Queries, id, replay)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sentDeliveries(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	pull := newHook()
	pull.Pull = true
	insertHook(t, r, pull)
	deliver(t, r)
	d := logOf(t, r, h)[0]
	want := []queue.Task{{Kind: queue.Deliver, ID: d.ID + "/", Tenant: h.Tenant, Endpoint: h.ID}}
	if diff := cmp.Diff(want, r.tasks.all); diff != "" {
		t.Fatalf("the tasks should be for the one that is not held (-want +got):\n%s", diff)
	}
	if err := r.replay(t.Context(), h, d.ID, "again", noon); err != nil {
		t.Fatal(err)
	}
	want = append(want, queue.Task{Kind: queue.Deliver, ID: d.ID + "/again", Tenant: h.Tenant, Endpoint: h.ID})
	if diff := cmp.Diff(want, r.tasks.all); diff != "" {
		t.Errorf("the replay is a task as well (-want +got):\n%s", diff)
	}
	if n := len(pending(t, r, d.ID, "")); n != 0 {
		t.Error("what was sent before the replay is still to be sent")
	}
	if n := len(pending(t, r, d.ID, "again")); n != 1 {
		t.Error("the replay is not to be sent")
	}
	oldest, err := oldestPending(t.Context(), r.store.Queries)
	if err != nil || !oldest.Equal(noon) {
		t.Errorf("the oldest is of %v, %v", oldest, err)
	}
}

func concluded(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	deliver(t, r)
	d := pending(t, r, logOf(t, r, h)[0].ID, "")[0]
	attempt := attemptRow{At: noon, Status: 500, Error: "no", Milliseconds: 7}
	next := noon.Add(time.Minute)
	conclude(t, r, conclusion{Delivery: d, Attempt: attempt, State: Pending, NextAt: next, Tries: 1})
	got := logOf(t, r, h)[0]
	if len(got.Attempts) != 1 || got.Attempts[0] != attempt || !got.NextAt.Equal(next) || got.Tries != 1 {
		t.Errorf("after a failure: %+v", got)
	}
	conclude(t, r, conclusion{Delivery: got, Attempt: attemptRow{At: next, Status: 204}, State: Delivered, Tries: 2})
	ended := logOf(t, r, h)[0]
	if ended.State != Delivered || len(ended.Attempts) != 2 || !ended.NextAt.IsZero() {
		t.Errorf("after a success: %+v", ended)
	}
	conclude(t, r, conclusion{Delivery: got, Attempt: attempt, State: Failed})
	if again := logOf(t, r, h)[0]; again.State != Delivered || len(again.Attempts) != 2 {
		t.Errorf("what had ended was changed: %+v", again)
	}
}

func goneDisables(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	deliver(t, r)
	deliver(t, r)
	d := logOf(t, r, h)[0]
	conclude(t, r, conclusion{Delivery: d, State: Failed, Attempt: attemptRow{Status: 410}, Disable: "Gone."})
	got, err := findWebhook(t.Context(), r.store.Queries, h.Tenant, h.ID)
	if err != nil || got.Enabled || got.DisabledReason != "Gone." {
		t.Errorf("the webhook is %+v, %v", got, err)
	}
	for _, d := range logOf(t, r, h) {
		if d.State != Failed {
			t.Errorf("still %s: %+v", d.State, d)
		}
	}
}

func heldDeliveries(t *testing.T, r *rowsLab) {
	h := newHook()
	h.Pull = true
	insertHook(t, r, h)
	for range 3 {
		deliver(t, r)
	}
	claim := func(lease string) (claimed []deliveryRow) {
		change(t, r, func(tx *store.Tx) (err error) {
			claimed, err = claimHeld(t.Context(), tx, h.ID, 2, lease, noon, noon.Add(time.Minute))
			return err
		})
		return claimed
	}
	got, rest := claim("lease"), claim("other")
	if len(got) != 2 || len(rest) != 1 || got[0].Round != "lease" {
		t.Errorf("fetched %+v, then %+v", got, rest)
	}
}

func replayed(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	deliver(t, r)
	d := logOf(t, r, h)[0]
	conclude(t, r, conclusion{Delivery: d, State: Failed, Attempt: attemptRow{At: noon, Status: 500}, Tries: 10})
	later := noon.Add(time.Hour)
	if err := r.replay(t.Context(), h, d.ID, "replay", later); err != nil {
		t.Fatal(err)
	}
	if got := logOf(t, r, h)[0]; got.State != Pending || got.Tries != 0 || len(got.Attempts) != 1 || !got.NextAt.Equal(later) {
		t.Errorf("replayed: %+v", got)
	}
	if err := r.replay(t.Context(), h, "nothing", "replay", later); video.KindOf(err) != video.NotFound {
		t.Errorf("what does not exist: %v", err)
	}
}

func deliveryPages(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	for i := range 5 {
		deliverAt(t, r, noon.Add(time.Duration(i/2)*time.Second)) // some at the same moment
	}
	d := logOf(t, r, h)[0]
	conclude(t, r, conclusion{Delivery: d, State: Delivered})
	for state, want := range map[State]int{"": 5, Pending: 4, Delivered: 1, Failed: 0} {
		var seen []string
		var after video.Cursor
		for {
			page, err := listDeliveries(t.Context(), r.store.Queries, h.ID, state, after, 2)
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

func oldDeliveries(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	for i := range 3 {
		deliverAt(t, r, noon.Add(time.Duration(i)*time.Hour))
	}
	for _, step := range []struct {
		limit, left int
		more        bool
	}{{1, 2, true}, {10, 1, false}} {
		change(t, r, func(tx *store.Tx) error {
			more, err := removeOld(t.Context(), tx, noon.Add(2*time.Hour), step.limit)
			if more != step.more {
				t.Errorf("removing %d reports %t; want %t", step.limit, more, step.more)
			}
			return err
		})
		if left := len(logOf(t, r, h)); left != step.left {
			t.Errorf("after removing %d there are %d; want %d", step.limit, left, step.left)
		}
	}
}
