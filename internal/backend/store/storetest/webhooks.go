package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func webhookTests() []test {
	return []test{
		{"round trip", webhookRoundTrip},
		{"a tenant has only so many", webhookLimit},
		{"secrets are rotated", secretsRotate},
		{"secrets are rotated at once", secretsRotateAtOnce},
		{"changed while it is disabled", changedWhileDisabled},
		{"removed with its log", webhookRemoved},
		{"disabling ends deliveries", disablingEnds},
		{"disabling with many deliveries", disablingMany},
	}
}

func webhookRoundTrip(t *testing.T, st *store.Store) {
	ctx, w := t.Context(), store.WebhooksOf(st)
	h := hook(t, st, video.EventReady, video.EventFailed)
	got, err := w.Get(ctx, h.Tenant, h.ID)
	if diff := cmp.Diff(h, got); err != nil || diff != "" {
		t.Errorf("Get: %v (-want +got):\n%s", err, diff)
	}
	if _, err := w.Get(ctx, "other", h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
	changed, err := w.Update(ctx, h.Tenant, h.ID, func(h *store.Webhook) error {
		h.URL, h.Events, h.Description = "https://example.org", nil, "ours"
		return nil
	})
	if err != nil || changed.URL != "https://example.org" {
		t.Errorf("Update = %+v, %v", changed, err)
	}
	all, err := w.List(ctx, h.Tenant)
	if err != nil || len(all) != 1 || all[0].Description != "ours" || all[0].Events != nil {
		t.Errorf("List = %+v, %v", all, err)
	}
	byID, err := w.ByID(ctx, []string{h.ID, "unknown"})
	if err != nil || len(byID) != 1 || byID[h.ID].URL != "https://example.org" {
		t.Errorf("ByID = %+v, %v", byID, err)
	}
	if _, err := w.Update(ctx, "other", h.ID, func(*store.Webhook) error { return nil }); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's update: %v", err)
	}
}

func webhookLimit(t *testing.T, st *store.Store) {
	var inserted atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			h := store.Webhook{ID: uuid.NewString(), Tenant: "t", Enabled: true, CreatedAt: noon}
			ok, err := store.WebhooksOf(st).Insert(t.Context(), h, "s", 3)
			if err != nil {
				t.Error(err)
			}
			if ok {
				inserted.Add(1)
			}
		})
	}
	all.Wait()
	if inserted.Load() != 3 {
		t.Errorf("%d were inserted at once; want 3", inserted.Load())
	}
}

func secretsRotate(t *testing.T, st *store.Store) {
	ctx, w := t.Context(), store.WebhooksOf(st)
	h := hook(t, st)
	secrets := func(at time.Time) []string {
		all, err := w.Secrets(ctx, []string{h.ID, "unknown"}, at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all[h.ID] {
			got = append(got, s.Secret)
		}
		return got
	}
	for i := 1; i <= 2; i++ {
		now := noon.Add(time.Duration(i) * time.Hour)
		if err := w.RotateSecret(ctx, h.Tenant, h.ID, fmt.Sprint("new", i), now, now.Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[time.Duration][]string{
		2 * time.Hour:  {"new2", "new1"}, // the first one has ended with the second rotation
		26 * time.Hour: {"new2"},
	} {
		if got := secrets(noon.Add(after)); !slices.Equal(got, want) {
			t.Errorf("after %s: %v; want %v", after, got, want)
		}
	}
	if err := w.RotateSecret(ctx, "other", h.ID, "theirs", noon, noon); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
}

func secretsRotateAtOnce(t *testing.T, st *store.Store) {
	w, h := store.WebhooksOf(st), hook(t, st)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if err := w.RotateSecret(t.Context(), h.Tenant, h.ID, fmt.Sprint("new", i), noon, noon.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	secrets, err := w.Secrets(t.Context(), []string{h.ID}, noon)
	current := slices.DeleteFunc(slices.Clone(secrets[h.ID]), func(s store.WebhookSecret) bool { return !s.ExpiresAt.IsZero() })
	if err != nil || len(current) != 1 || len(secrets[h.ID]) != 2 {
		t.Errorf("there are %d secrets and %d of them are current, %v; want 2 and 1", len(secrets[h.ID]), len(current), err)
	}
}

// changedWhileDisabled checks that a change of a webhook does not enable it if it was disabled meanwhile.
func changedWhileDisabled(t *testing.T, st *store.Store) {
	ctx, w, h := t.Context(), store.WebhooksOf(st), hook(t, st)
	deliver(t, st)
	d := log(t, st, h)[0]
	var once sync.Once
	gone := make(chan error, 1)
	_, err := w.Update(ctx, h.Tenant, h.ID, func(h *store.Webhook) error {
		once.Do(func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				gone <- st.InTx(ctx, func(tx *store.Tx) error {
					return tx.Conclude(ctx, store.Conclusion{Delivery: d, State: store.DeliveryFailed, Disable: "Gone."})
				})
			}()
			select {
			case <-done: // it has overtaken this change
			case <-time.After(200 * time.Millisecond): // it waits, as it should
			}
		})
		h.Description = "ours"
		return nil
	})
	err = errors.Join(err, <-gone)
	got, also := w.Get(ctx, h.Tenant, h.ID)
	if err != nil || also != nil || got.Enabled || got.Description != "ours" {
		t.Errorf("the webhook is %+v, %v, %v; want it disabled", got, err, also)
	}
}

func webhookRemoved(t *testing.T, st *store.Store) {
	ctx, w := t.Context(), store.WebhooksOf(st)
	h, other := hook(t, st), hook(t, st)
	deliver(t, st)
	if err := w.Remove(ctx, "other", h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
	event := log(t, st, h)[0].Event
	wantEvents(t, st, 1, event)
	if err := w.Remove(ctx, h.Tenant, h.ID); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, st, 1, event)
	removeLogs(t, st)
	wantEvents(t, st, 1, event) // the other one gets it, too
	secrets, err := w.Secrets(ctx, []string{h.ID}, noon)
	if err != nil || len(secrets) > 0 || len(log(t, st, h)) > 0 || len(log(t, st, other)) != 1 {
		t.Errorf("left: secrets %v, %v, log %v; the other's log: %v", secrets, err, log(t, st, h), log(t, st, other))
	}
	if err := w.Remove(ctx, h.Tenant, h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("twice: %v", err)
	}
	deliver(t, st)
	deliver(t, st)
	if err := w.Remove(ctx, other.Tenant, other.ID); err != nil {
		t.Fatal(err)
	}
	if more, err := w.RemoveLogs(ctx, 2); err != nil || !more || len(log(t, st, other)) != 1 {
		t.Errorf("RemoveLogs = %t, %v; left %d, want one", more, err, len(log(t, st, other)))
	}
	removeLogs(t, st)
	if left := log(t, st, other); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	wantEvents(t, st, 0, event)
}

// removeLogs removes all that is left of removed webhooks.
func removeLogs(t *testing.T, st *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = store.WebhooksOf(st).RemoveLogs(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
}

// wantEvents wants so many of the events to exist.
func wantEvents(t *testing.T, st *store.Store, want int, ids ...string) {
	t.Helper()
	if all, err := store.WebhooksOf(st).Events(t.Context(), ids); err != nil || len(all) != want {
		t.Errorf("%d events are stored, %v; want %d", len(all), err, want)
	}
}

func disablingEnds(t *testing.T, st *store.Store) {
	h := hook(t, st)
	deliver(t, st)
	if _, err := store.WebhooksOf(st).Update(t.Context(), h.Tenant, h.ID, func(h *store.Webhook) error { h.Enabled = false; return nil }); err != nil {
		t.Fatal(err)
	}
	deliver(t, st)
	if all := log(t, st, h); len(all) != 1 || all[0].State != store.DeliveryFailed || !all[0].NextAt.IsZero() {
		t.Errorf("the log is %+v; want what was pending, failed", all)
	}
}

// disablingMany checks that many deliveries are ended in small steps, and that none of them is sent, even if the
// webhook is enabled meanwhile.
func disablingMany(t *testing.T, st *store.Store) {
	const many = 450
	ctx, w := t.Context(), store.WebhooksOf(st)
	enabled := func(h store.Webhook, on bool) {
		t.Helper()
		if _, err := w.Update(ctx, h.Tenant, h.ID, func(h *store.Webhook) error { h.Enabled = on; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	pending := func(h store.Webhook) int {
		all, err := w.Deliveries(ctx, h.ID, store.DeliveryPending, video.Cursor{}, many+1)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	h, other := hook(t, st), hook(t, st)
	store.WebhooksOf(st).UseClock(func() time.Time { return noon })
	change(t, st, func(tx *store.Tx) error {
		for range many {
			v := newVideo()
			v.Status = video.Processing
			if err := errors.Join(tx.InsertVideo(ctx, v), tx.MoveVideo(ctx, v.ID, video.Ready, nil)); err != nil {
				return err
			}
		}
		return nil
	})
	enabled(h, false)
	enabled(other, false)
	if left := pending(h); left == 0 || left == many {
		t.Errorf("%d of %d are left; want that a part was ended at once", left, many)
	}
	enabled(other, true)
	if left := pending(other); left > 0 {
		t.Errorf("%d of before are sent to a webhook that was enabled again", left)
	}
	for more := true; more; {
		var err error
		before := pending(h)
		if more, err = w.EndDeliveries(ctx, 100); err != nil {
			t.Fatal(err)
		}
		if ended := before - pending(h); ended > 100 {
			t.Fatalf("%d were ended at once; want at most 100", ended)
		}
	}
	if left := pending(h); left > 0 {
		t.Errorf("%d are left", left)
	}
	deliver(t, st)
	if left := pending(other); left != 1 {
		t.Errorf("%d are to be sent to the webhook that was enabled; want the new one", left)
	}
}
