package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

func wantCode(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Kind != kind || e.Code != code {
		t.Errorf("%v; want %s", err, code)
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	ctx := t.Context()
	for _, url := range []string{"http://8.8.8.8/", "https://10.0.0.1/", "https://127.0.0.2/", "https://0x0a000001/", "https://[::ffff:10.0.0.1]/", "ftp://x", "nonsense"} {
		_, _, err := l.Create(ctx, l.by, webhook.Draft{URL: url})
		wantCode(t, err, video.Invalid, "address_not_allowed")
	}
	w, _ := l.add("https://a-name-that-nobody-has.invalid/") // it may resolve one day
	_, err := l.Update(ctx, l.by, w.ID, webhook.Changes{URL: new("https://192.168.0.1")})
	wantCode(t, err, video.Invalid, "address_not_allowed")
	_, err = l.Update(ctx, l.by, w.ID, webhook.Changes{URL: new("")})
	wantCode(t, err, video.Invalid, "invalid_request")
	_, _, err = l.Create(ctx, l.by, webhook.Draft{Events: []video.EventType{"video.eaten"}, Description: strings.Repeat("ü", 501)})
	if e, ok := errors.AsType[*video.Error](err); !ok || len(e.Faults) != 3 {
		t.Errorf("%v; want faults of url, events and description", err)
	}
	_, err = l.Update(ctx, l.by, w.ID, webhook.Changes{Description: new("a\x00b")})
	wantCode(t, err, video.Invalid, "invalid_request")
	_, _, err = l.Create(ctx, l.by, webhook.Draft{URL: "https://example.com", Pull: true})
	wantCode(t, err, video.Invalid, "invalid_request")
}

// What registering answers is what reading answers later: rows keep milliseconds.
func TestAWebhookReadsAsItWasRegistered(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	w, _ := l.add("https://a-name-that-nobody-has.invalid/")
	got, err := l.Get(t.Context(), l.by, w.ID)
	if err != nil || !got.CreatedAt.Equal(w.CreatedAt) {
		t.Errorf("read %v, %v; registered %v", got.CreatedAt, err, w.CreatedAt)
	}
}

func TestAtMostTwenty(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	for range webhook.MaxPerTenant {
		l.add("http://127.0.0.1:1/")
	}
	_, _, err := l.Create(t.Context(), l.by, webhook.Draft{URL: "http://127.0.0.1:1/"})
	wantCode(t, err, video.Conflict, "too_many_webhooks")
	all, err := l.List(t.Context(), l.by)
	if err != nil || len(all) != webhook.MaxPerTenant {
		t.Errorf("%d webhooks, %v", len(all), err)
	}
	l.must(l.Delete(t.Context(), l.by, all[0].ID))
	l.add("http://127.0.0.1:1/")
}

func TestTestsAreBounded(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick) // it does not run: nothing is delivered
	for _, url := range []string{"http://127.0.0.1:1/", ""} {
		w, _ := l.add(url)
		for range 100 {
			_, err := l.Test(t.Context(), l.by, w.ID)
			l.must(err)
		}
		_, err := l.Test(t.Context(), l.by, w.ID)
		wantCode(t, err, video.RateLimited, "rate_limited")
	}
}

func TestNothingIsTestedOrReplayedOnAFullDisk(t *testing.T) {
	t.Parallel()
	full := &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage", Msg: "Full."}
	var now error
	l := onSQLite(t, webhook.Config{Space: func(context.Context) error { return now }})
	w, _ := l.add("")
	_, err := l.Test(t.Context(), l.by, w.ID)
	l.must(err)
	now = full
	_, err = l.Test(t.Context(), l.by, w.ID)
	wantCode(t, err, video.InsufficientStorage, "insufficient_storage")
	wantCode(t, l.Replay(t.Context(), l.by, l.log(w)[0].ID), video.InsufficientStorage, "insufficient_storage")
	if n := len(l.log(w)); n != 1 {
		t.Errorf("%d deliveries; want one", n)
	}
}

func TestScopesAndTenants(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	ctx := t.Context()
	w, _ := l.add("http://127.0.0.1:1/")
	l.ready()
	delivery := l.log(w)[0].ID
	calls := map[string]func(by auth.Actor) error{
		"create": func(by auth.Actor) error {
			_, _, err := l.Create(ctx, by, webhook.Draft{URL: "http://127.0.0.1:1/"})
			return err
		},
		"list":       func(by auth.Actor) error { _, err := l.List(ctx, by); return err },
		"get":        func(by auth.Actor) error { _, err := l.Get(ctx, by, w.ID); return err },
		"update":     func(by auth.Actor) error { _, err := l.Update(ctx, by, w.ID, webhook.Changes{}); return err },
		"rotate":     func(by auth.Actor) error { _, err := l.RotateSecret(ctx, by, w.ID); return err },
		"test":       func(by auth.Actor) error { _, err := l.Test(ctx, by, w.ID); return err },
		"deliveries": func(by auth.Actor) error { _, err := l.Deliveries(ctx, by, w.ID, "", video.Cursor{}, 1); return err },
		"delivery":   func(by auth.Actor) error { _, _, err := l.Delivery(ctx, by, delivery); return err },
		"replay":     func(by auth.Actor) error { return l.Replay(ctx, by, delivery) },
		"fetch":      func(by auth.Actor) error { _, err := l.Fetch(ctx, by, w.ID, 1); return err },
		"report":     func(by auth.Actor) error { return l.Report(ctx, by, delivery, "x", webhook.Attempt{Status: 200}) },
		"delete":     func(by auth.Actor) error { return l.Delete(ctx, by, w.ID) },
	}
	for name, call := range calls {
		wantCode(t, call(auth.Actor{Tenant: l.by.Tenant, Scopes: []auth.Scope{auth.Read, auth.Write, auth.Delete}}), video.Forbidden, "insufficient_scope")
		err := call(auth.Actor{Tenant: "other", Scopes: auth.Scopes})
		if name == "create" || name == "list" {
			l.must(err)
		} else if video.KindOf(err) != video.NotFound {
			t.Errorf("%s by another tenant: %v; want not found", name, err)
		}
	}
}

func TestFetching(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(webhook.Config) *lab) {
		l := open(webhook.Config{})
		l.run() // leaves it alone
		ctx := t.Context()
		w, secret := l.add("")
		l.ready()
		l.ready()
		got, err := l.Fetch(ctx, l.by, w.ID, 10)
		l.must(err)
		if len(got) != 2 {
			t.Fatalf("%d events were fetched; want 2", len(got))
		}
		h := http.Header{}
		h.Set("webhook-id", got[0].ID)
		h.Set("webhook-timestamp", got[0].Timestamp)
		h.Set("webhook-signature", got[0].Signature)
		if err := verify(secret, received{h, got[0].Body}); err != nil {
			t.Error(err)
		}
		if again, err := l.Fetch(ctx, l.by, w.ID, 10); err != nil || len(again) > 0 {
			t.Errorf("fetched again: %v, %v", again, err)
		}
		wantCode(t, l.Report(ctx, l.by, got[0].DeliveryID, "forged", webhook.Attempt{Status: 200}), video.Conflict, "receipt_expired")
		l.must(l.Report(ctx, l.by, got[0].DeliveryID, got[0].Receipt, webhook.Attempt{Status: 200, Duration: time.Second}))
		wantCode(t, l.Report(ctx, l.by, got[0].DeliveryID, got[0].Receipt, webhook.Attempt{Status: 200}), video.Conflict, "receipt_expired")
		l.must(l.Report(ctx, l.by, got[1].DeliveryID, got[1].Receipt, webhook.Attempt{Error: "Nobody listens."}))
		for _, d := range l.log(w) {
			if d.ID == got[0].DeliveryID && (d.State != webhook.Delivered || d.Attempts[0].Duration != time.Second) ||
				d.ID == got[1].DeliveryID && (d.State != webhook.Pending || d.Attempts[0].Error != "Nobody listens." || d.NextAttemptAt.IsZero()) {
				t.Errorf("the log says %+v", d)
			}
		}
		page, err := l.Deliveries(ctx, l.by, w.ID, webhook.Pending, video.Cursor{}, 10)
		if err != nil || len(page.Deliveries) != 1 {
			t.Errorf("pending: %+v, %v", page, err)
		}
	})
}

func TestTheLogHasPages(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	w, _ := l.add("http://127.0.0.1:1/")
	for range 5 {
		l.ready()
	}
	var after video.Cursor
	seen, pages := map[string]bool{}, 0
	for {
		p, err := l.Deliveries(t.Context(), l.by, w.ID, webhook.Pending, after, 2)
		l.must(err)
		for _, d := range p.Deliveries {
			seen[d.ID] = true
		}
		pages++
		if after = p.Next; after == (video.Cursor{}) {
			break
		}
	}
	if len(seen) != 5 || pages != 3 {
		t.Errorf("%d deliveries on %d pages; want 5 on 3", len(seen), pages)
	}
}
