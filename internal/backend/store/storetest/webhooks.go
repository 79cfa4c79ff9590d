package storetest

import (
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
		{"removed with its log", webhookRemoved},
		{"disabling ends deliveries", disablingEnds},
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
	byID, err := w.ByID(ctx, []string{h.ID, "nobody"})
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
		all, err := w.Secrets(ctx, []string{h.ID, "nobody"}, at)
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
		2 * time.Hour:  {"new2", "new1", "whsec_" + h.ID},
		25 * time.Hour: {"new2", "new1"},
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

func webhookRemoved(t *testing.T, st *store.Store) {
	ctx, w := t.Context(), store.WebhooksOf(st)
	h, other := hook(t, st), hook(t, st)
	deliver(t, st)
	if err := w.Remove(ctx, "other", h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
	if err := w.Remove(ctx, h.Tenant, h.ID); err != nil {
		t.Fatal(err)
	}
	secrets, err := w.Secrets(ctx, []string{h.ID}, noon)
	if err != nil || len(secrets) > 0 || len(log(t, st, h)) > 0 || len(log(t, st, other)) != 1 {
		t.Errorf("left: secrets %v, %v, log %v; the other's log: %v", secrets, err, log(t, st, h), log(t, st, other))
	}
	if err := w.Remove(ctx, h.Tenant, h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("twice: %v", err)
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
