package webhook_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

func TestAnEventArrivesSigned(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(webhook.Config) *lab) {
		l := open(quick)
		l.run()
		r := newReceiver(t, status(204))
		w, secret := l.add(r.URL + "/hook?x=1")
		id := l.ready()
		d := l.inState(w, webhook.Delivered)[0]

		all := r.got()
		if len(all) != 1 {
			t.Fatalf("%d requests arrived", len(all))
		}
		if err := verify(secret, all[0]); err != nil {
			t.Errorf("Standard Webhooks: %v", err)
		}
		all[0].body[5] ^= 1
		if verify(secret, all[0]) == nil {
			t.Error("a changed message is valid")
		}
		all[0].body[5] ^= 1
		var m struct {
			Type      string
			Timestamp time.Time
			Data      struct {
				ID       video.ID
				Status   string
				Progress float64
			}
		}
		if err := json.Unmarshal(all[0].body, &m); err != nil {
			t.Fatal(err)
		}
		if m.Type != "video.ready" || m.Data.ID != id || m.Data.Status != "ready" || m.Data.Progress != 1 || time.Since(m.Timestamp).Abs() > time.Hour {
			t.Errorf("the message is %s", all[0].body)
		}
		if h := all[0].header; h.Get("webhook-id") != d.EventID || h.Get("Content-Type") != "application/json" {
			t.Errorf("the headers are %v; the event is %s", h, d.EventID)
		}
		if d.VideoID != id || len(d.Attempts) != 1 || d.Attempts[0].Status != 204 || d.Attempts[0].Error != "" || !d.NextAttemptAt.IsZero() {
			t.Errorf("the log says %+v", d)
		}
		logged, body, err := l.Delivery(t.Context(), l.by, d.ID)
		if err != nil || logged.EventID != d.EventID || string(body) != string(all[0].body) {
			t.Errorf("the delivery is %+v with %s, %v; want the message that came", logged, body, err)
		}
		_, _, err = l.Delivery(t.Context(), auth.Actor{Tenant: l.by.Tenant, Scopes: []auth.Scope{auth.Admin}}, d.ID)
		wantCode(t, err, video.Forbidden, "insufficient_scope") // it tells of a video
	})
}

// A receiver that was away gets every event once, and each try is in the log.
func TestAReceiverThatWasAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(webhook.Config) *lab) {
		l := open(patient)
		l.run()
		var back atomic.Bool
		accepted := make(chan string, 100)
		r := newReceiver(t, func(_ int, w http.ResponseWriter, req *http.Request) {
			if !back.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			accepted <- req.Header.Get("webhook-id")
		})
		w, _ := l.add(r.URL)
		const events = 5
		for range events {
			l.ready()
		}
		eventually(t, "each was tried", func() bool { return l.counts.of(webhook.OutcomeRetry) >= 2*events })
		back.Store(true)
		seen := map[string]bool{}
		for _, d := range l.inState(w, webhook.Delivered) {
			seen[d.EventID] = true
			last := d.Attempts[len(d.Attempts)-1]
			if d.Attempts[0].Status != 503 || d.Attempts[0].Error == "" || last.Status != 200 {
				t.Errorf("the log says %+v", d.Attempts)
			}
		}
		close(accepted)
		n := 0
		for id := range accepted {
			n++
			if !seen[id] {
				t.Errorf("%s arrived twice, or is nobody's", id)
			}
			delete(seen, id)
		}
		if n != events {
			t.Errorf("%d arrived; want %d", n, events)
		}
	})
}

func TestItGivesUpAfterTenTries(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	l.run()
	r := newReceiver(t, status(500))
	w, _ := l.add(r.URL)
	l.ready()
	d := l.inState(w, webhook.Failed)[0]
	if len(d.Attempts) != 10 || len(r.got()) != 10 || !d.NextAttemptAt.IsZero() {
		t.Errorf("%d attempts in the log, %d requests; want 10", len(d.Attempts), len(r.got()))
	}
	l.must(l.Replay(t.Context(), l.by, d.ID))
	eventually(t, "it was tried again", func() bool { return len(r.got()) > 10 })
	for _, m := range r.got() {
		if m.header.Get("webhook-id") != d.EventID {
			t.Errorf("the event has the id %s; want %s in every try", m.header.Get("webhook-id"), d.EventID)
		}
	}
}

func TestGoneDisables(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	l.run()
	r := newReceiver(t, status(410))
	w, _ := l.add(r.URL)
	l.ready()
	l.inState(w, webhook.Failed)
	got, err := l.Get(t.Context(), l.by, w.ID)
	if err != nil || got.Enabled || got.DisabledReason == "" {
		t.Fatalf("the webhook is %+v, %v", got, err)
	}
	l.ready()
	if n := len(l.log(w)); n != 1 {
		t.Errorf("%d events; want none after it was disabled", n)
	}
	d := l.log(w)[0]
	if err := l.Replay(t.Context(), l.by, d.ID); video.KindOf(err) != video.Conflict {
		t.Errorf("a replay to a disabled webhook: %v", err)
	}
	got, err = l.Update(t.Context(), l.by, w.ID, webhook.Changes{Enabled: new(true)})
	if err != nil || !got.Enabled || got.DisabledReason != "" {
		t.Errorf("enabled again: %+v, %v", got, err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, webhook.Config{})
	l.run()
	target := newReceiver(t, nil)
	r := newReceiver(t, func(_ int, w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, target.URL, http.StatusTemporaryRedirect)
	})
	w, _ := l.add(r.URL)
	l.ready()
	eventually(t, "it was tried", func() bool { return l.counts.of(webhook.OutcomeRetry) == 1 })
	d := l.log(w)[0]
	if len(target.got()) > 0 || d.State != webhook.Pending || d.Attempts[0].Status != 307 || d.Attempts[0].Error == "" {
		t.Errorf("the log says %+v; %d requests followed", d, len(target.got()))
	}
	if pause := d.NextAttemptAt.Sub(d.Attempts[0].At) - d.Attempts[0].Duration; pause < 4*time.Second || pause > 6*time.Second {
		t.Errorf("the next try comes after %s; want about 5 s", pause)
	}
}

func TestBothSecretsSignForADay(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	l.run()
	r := newReceiver(t, nil)
	w, old := l.add(r.URL)
	fresh, err := l.RotateSecret(t.Context(), l.by, w.ID)
	l.must(err)
	event, err := l.Test(t.Context(), l.by, w.ID)
	l.must(err)
	l.inState(w, webhook.Delivered)
	if got := r.got()[0].header.Get("webhook-id"); got != event {
		t.Errorf("the test is %s, what came is %s", event, got)
	}
	for _, secret := range []string{old, fresh} {
		if err := verify(secret, r.got()[0]); err != nil {
			t.Errorf("%v", err)
		}
	}
	if fresh == old {
		t.Error("the secret is the same")
	}
}

// A webhook that never answers, with many events, and one that does.
func TestADeadEndpointDelaysNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(webhook.Config) *lab) {
		l := open(webhook.Config{Timeout: time.Hour}) // a request to the dead one never ends
		stop := l.run()
		hang := make(chan struct{})
		dead := newReceiver(t, func(int, http.ResponseWriter, *http.Request) { <-hang })
		defer close(hang)
		healthy := newReceiver(t, nil)
		deadHook, _ := l.add(dead.URL)
		w, _ := l.add(healthy.URL)
		for range 20 {
			l.ready()
		}
		l.inState(w, webhook.Delivered)
		eventually(t, "the dead one was asked", func() bool { return len(dead.got()) > 0 })
		if n := len(dead.got()); n > l.places/4 {
			t.Errorf("%d of %d requests are under way to the dead one; want at most a quarter", n, l.places)
		}
		if n := len(l.log(deadHook)); n != 20 {
			t.Errorf("%d deliveries to the dead one; want 20", n)
		}
		stop() // gives back what is under way
		for _, d := range l.log(deadHook) {
			if d.State != webhook.Pending || len(d.Attempts) > 0 {
				t.Errorf("after a stop: %+v; want it pending and not counted", d)
			}
		}
	})
}

func TestDeletedWebhooksGetNothing(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	r := newReceiver(t, nil)
	w, _ := l.add(r.URL)
	l.ready()
	l.must(l.Delete(t.Context(), l.by, w.ID))
	other, _ := l.add(r.URL + "/other")
	l.ready()
	l.run()
	l.inState(other, webhook.Delivered)
	if n := len(r.got()); n != 1 {
		t.Errorf("%d requests arrived; want one", n)
	}
}

func TestTheLogIsKeptForThirtyDays(t *testing.T) {
	t.Parallel()
	l := onSQLite(t, quick)
	w, _ := l.add("") // nobody fetches them
	for _, days := range []int{31, 29} {
		l.store.UseClock(func() time.Time { return time.Now().AddDate(0, 0, -days) })
		l.ready()
	}
	l.run()
	eventually(t, "the older one is gone", func() bool { return len(l.log(w)) == 1 })
	if age := time.Since(l.log(w)[0].CreatedAt); age > webhook.Keep {
		t.Errorf("what is left is %s old", age)
	}
}

// An event that cannot be read fails alone.
func TestADamagedEventDelaysNoOther(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	st, err := store.OpenPostgres(t.Context(), address)
	l := newLab(t, quick, st, err)
	r := newReceiver(t, status(204))
	hooks := map[string]webhook.Webhook{}
	for _, name := range []string{"damaged", "whole"} {
		hooks[name], _ = l.add(r.URL)
		hooks[name+", fetched"], _ = l.add("")
	}
	id := l.ready()
	pgtest.Exec(t, address, "INSERT INTO webhook_event (id, type, video_id, created_at, snapshot) SELECT 'damaged', type, video_id, created_at, '{' FROM webhook_event WHERE video_id = '"+string(id)+"'")
	for _, name := range []string{"damaged", "damaged, fetched"} {
		pgtest.Exec(t, address, "UPDATE webhook_delivery SET event_id = 'damaged' WHERE webhook_id = '"+hooks[name].ID+"'")
	}
	l.run()
	l.inState(hooks["whole"], webhook.Delivered)
	for name, want := range map[string]int{"damaged, fetched": 0, "whole, fetched": 1} {
		if got, err := l.Fetch(t.Context(), l.by, hooks[name].ID, 10); err != nil || len(got) != want {
			t.Errorf("%s: %d events, %v; want %d", name, len(got), err, want)
		}
	}
	for _, name := range []string{"damaged", "damaged, fetched"} {
		eventually(t, name+" is in the log", func() bool {
			all := l.log(hooks[name])
			return len(all) == 1 && len(all[0].Attempts) > 0 && all[0].Attempts[0].Error == "Spool could not write the message."
		})
	}
}
