package webhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func webhookRoundTrip(t *testing.T, r *rowsLab) {
	ctx := t.Context()
	h := hook(t, r, video.EventReady, video.EventFailed)
	got, err := findWebhook(ctx, r.store.Queries, h.Tenant, h.ID)
	if diff := cmp.Diff(h, got); err != nil || diff != "" {
		t.Errorf("Get: %v (-want +got):\n%s", err, diff)
	}
	if _, err := findWebhook(ctx, r.store.Queries, "other", h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
	changed, err := r.update(ctx, h.Tenant, h.ID, func(h *Webhook) {
		h.URL, h.Events, h.Description = "https://example.org", nil, "ours"
	})
	if err != nil || changed.URL != "https://example.org" {
		t.Errorf("Update = %+v, %v", changed, err)
	}
	all, err := webhooksOf(ctx, r.store.Queries, h.Tenant)
	if err != nil || len(all) != 1 || all[0].Description != "ours" || all[0].Events != nil {
		t.Errorf("List = %+v, %v", all, err)
	}
	byID, err := webhooksByID(ctx, r.store.Queries, []string{h.ID, "unknown"})
	if err != nil || len(byID) != 1 || byID[h.ID].URL != "https://example.org" {
		t.Errorf("ByID = %+v, %v", byID, err)
	}
	if _, err := r.update(ctx, "other", h.ID, func(*Webhook) {}); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's update: %v", err)
	}
}

func webhookLimit(t *testing.T, r *rowsLab) {
	var inserted atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			h := newHook()
			ok, err := r.insert(t.Context(), h, "s", 3)
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

func secretsRotate(t *testing.T, r *rowsLab) {
	ctx := t.Context()
	h := hook(t, r)
	secrets := func(at time.Time) []string {
		all, err := secretsOf(ctx, r.store.Queries, []string{h.ID, "unknown"}, at)
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
		if err := r.rotateSecret(ctx, h.Tenant, h.ID, fmt.Sprint("new", i), now, now.Add(24*time.Hour)); err != nil {
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
	if err := r.rotateSecret(ctx, "other", h.ID, "theirs", noon, noon); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
}

func secretsRotateAtOnce(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if err := r.rotateSecret(t.Context(), h.Tenant, h.ID, fmt.Sprint("new", i), noon, noon.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	secrets, err := secretsOf(t.Context(), r.store.Queries, []string{h.ID}, noon)
	current := slices.DeleteFunc(slices.Clone(secrets[h.ID]), func(s secretRow) bool { return !s.ExpiresAt.IsZero() })
	if err != nil || len(current) != 1 || len(secrets[h.ID]) != 2 {
		t.Errorf("there are %d secrets and %d of them are current, %v; want 2 and 1", len(secrets[h.ID]), len(current), err)
	}
}

// changedWhileDisabled checks that a change of a webhook does not enable it if it was disabled meanwhile.
func changedWhileDisabled(t *testing.T, r *rowsLab) {
	ctx, h := t.Context(), hook(t, r)
	deliver(t, r)
	d := logOf(t, r, h)[0]
	var once sync.Once
	gone := make(chan error, 1)
	_, err := r.update(ctx, h.Tenant, h.ID, func(h *Webhook) {
		once.Do(func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				gone <- r.store.InTx(ctx, func(tx *store.Tx) error {
					return r.record.conclude(ctx, tx, conclusion{Delivery: d, State: Failed, Disable: "Gone."})
				})
			}()
			select {
			case <-done: // it has overtaken this change
			case <-time.After(200 * time.Millisecond): // it waits, as it should
			}
		})
		h.Description = "ours"
	})
	err = errors.Join(err, <-gone)
	got, also := findWebhook(ctx, r.store.Queries, h.Tenant, h.ID)
	if err != nil || also != nil || got.Enabled || got.Description != "ours" {
		t.Errorf("the webhook is %+v, %v, %v; want it disabled", got, err, also)
	}
}

func webhookRemoved(t *testing.T, r *rowsLab) {
	ctx := t.Context()
	h, other := hook(t, r), hook(t, r)
	deliver(t, r)
	if err := r.remove(ctx, "other", h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("another tenant's: %v", err)
	}
	event := logOf(t, r, h)[0].Event
	wantEvents(t, r, 1, event)
	if err := r.remove(ctx, h.Tenant, h.ID); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, r, 1, event)
	cleanUp(t, r, h)
	wantEvents(t, r, 1, event) // the other one gets it, too
	secrets, err := secretsOf(ctx, r.store.Queries, []string{h.ID}, noon)
	if err != nil || len(secrets) > 0 || len(logOf(t, r, h)) > 0 || len(logOf(t, r, other)) != 1 {
		t.Errorf("left: secrets %v, %v, log %v; the other's log: %v", secrets, err, logOf(t, r, h), logOf(t, r, other))
	}
	if err := r.remove(ctx, h.Tenant, h.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("twice: %v", err)
	}
	deliver(t, r)
	deliver(t, r)
	if err := r.remove(ctx, other.Tenant, other.ID); err != nil {
		t.Fatal(err)
	}
	if more := step(t, r, other, 2); !more || len(logOf(t, r, other)) != 1 {
		t.Errorf("a step reports %t and leaves %d; want one", more, len(logOf(t, r, other)))
	}
	cleanUp(t, r, other)
	if left := logOf(t, r, other); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	wantEvents(t, r, 0, event)
}

// step takes one step of cleaning up after a webhook, for which there has to be a task.
func step(t *testing.T, r *rowsLab, h Webhook, limit int) (more bool) {
	t.Helper()
	if !slices.ContainsFunc(r.tasks.all, func(task queue.Task) bool {
		return task.Kind == queue.CleanUp && strings.HasPrefix(task.ID, h.ID+"/") && task.Tenant == h.Tenant
	}) {
		t.Errorf("no task cleans up after %s", h.ID)
	}
	change(t, r, func(tx *store.Tx) (err error) {
		more, err = cleanUpStep(t.Context(), tx, h.ID, limit)
		return err
	})
	return more
}

// cleanUp does what is left to do for a webhook.
func cleanUp(t *testing.T, r *rowsLab, h Webhook) {
	t.Helper()
	for step(t, r, h, 2) {
	}
}

// wantEvents wants so many of the events to exist.
func wantEvents(t *testing.T, r *rowsLab, want int, ids ...string) {
	t.Helper()
	if all, err := eventsByID(t.Context(), r.store.Queries, ids); err != nil || len(all) != want {
		t.Errorf("%d events are stored, %v; want %d", len(all), err, want)
	}
}

func disablingEnds(t *testing.T, r *rowsLab) {
	h := hook(t, r)
	deliver(t, r)
	if _, err := r.update(t.Context(), h.Tenant, h.ID, func(h *Webhook) { h.Enabled = false }); err != nil {
		t.Fatal(err)
	}
	deliver(t, r)
	if all := logOf(t, r, h); len(all) != 1 || all[0].State != Failed || !all[0].NextAt.IsZero() {
		t.Errorf("the log is %+v; want what was pending, failed", all)
	}
}

// disablingMany checks that many deliveries are ended in small steps, and that none of them is sent, even if the
// webhook is enabled meanwhile.
func disablingMany(t *testing.T, r *rowsLab) {
	const many = 450
	ctx := t.Context()
	enabled := func(h Webhook, on bool) {
		t.Helper()
		if _, err := r.update(ctx, h.Tenant, h.ID, func(h *Webhook) { h.Enabled = on }); err != nil {
			t.Fatal(err)
		}
	}
	pending := func(h Webhook) int {
		all, err := listDeliveries(ctx, r.store.Queries, h.ID, Pending, video.Cursor{}, many+1)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	h, other := hook(t, r), hook(t, r)
	r.store.UseClock(func() time.Time { return noon })
	change(t, r, func(tx *store.Tx) error {
		for range many {
			v := newVideo()
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
		before := pending(h)
		more = step(t, r, h, 100)
		if ended := before - pending(h); ended > 100 {
			t.Fatalf("%d were ended at once; want at most 100", ended)
		}
	}
	if left := pending(h); left > 0 {
		t.Errorf("%d are left", left)
	}
	deliver(t, r)
	if left := pending(other); left != 1 {
		t.Errorf("%d are to be sent to the webhook that was enabled; want the new one", left)
	}
}
