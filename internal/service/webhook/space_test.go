package webhook_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/rig"
)

var errFull = &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage", Msg: "Full."}

// On a disk that is nearly full, events go before deletions fail: those that were delivered first, and the
// others only if they have to. Otherwise they stay.
func TestEventsFreeSpace(t *testing.T) {
	t.Parallel()
	var full, dips atomic.Bool
	var short, asked, looks atomic.Int64
	l := onSQLite(t, webhook.Config{
		Space: func(context.Context) error {
			asked.Add(1)
			if full.Load() {
				return errFull
			}
			return nil
		},
		Short: func(context.Context) (webhook.Shortage, error) {
			if dips.Load() && looks.Add(1)%5 > 0 {
				return webhook.Short, nil // four times in a row
			}
			return webhook.Shortage(short.Load()), nil
		},
	})
	r := newReceiver(t, nil)
	healthy, _ := l.add(r.URL)
	held, _ := l.add("") // nobody fetches them
	l.ready()
	l.run()
	l.inState(healthy, webhook.Delivered)
	want := func(when string, looks int64, inHealthy, inHeld int) {
		t.Helper()
		before := asked.Load()
		eventually(t, "the space is looked at", func() bool { return asked.Load() >= before+looks })
		if a, b := len(l.log(healthy)), len(l.log(held)); a != inHealthy || b != inHeld {
			t.Errorf("%s: %d delivered and %d open events are left; want %d and %d", when, a, b, inHealthy, inHeld)
		}
	}
	want("enough space", 2, 1, 1)
	full.Store(true)
	eventually(t, "what was delivered goes", func() bool { return len(l.log(healthy)) == 0 })
	want("no space for creates", 2, 0, 1)
	dips.Store(true)
	want("something else needs space now and then", 7, 0, 1)
	short.Store(int64(webhook.Short))
	dips.Store(false)
	eventually(t, "all events go", func() bool { return len(l.log(held)) == 0 })
	full.Store(false)
	want("enough space again", 2, 0, 0)
	l.ready()
	l.inState(healthy, webhook.Delivered)
	want("enough space again", 2, 1, 1)
}

// No more is removed than has to be.
func TestEventsGoInSmallSteps(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	l := onSQLite(t, webhook.Config{
		Space: func(context.Context) error { return errFull },
		Short: func(context.Context) (webhook.Shortage, error) {
			if looks.Add(1) == 1 {
				return webhook.Critical, nil
			}
			return webhook.Enough, nil
		},
	})
	held, _ := l.add("")
	for range 60 {
		l.ready()
	}
	l.run()
	eventually(t, "the space is looked at", func() bool { return looks.Load() > 3 })
	if n := len(l.log(held)); n != 10 {
		t.Errorf("%d of 60 events are left; want 10", n)
	}
}

// On a disk that is full, nothing can be removed from a database without some space: that is held for it.
func TestEventsFreeSpaceOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := rig.SmallDisk(t)
	emergency := diskspace.NewEmergency(dir, 16<<20)
	st, err := store.OpenSQLite(t.Context(), filepath.Join(dir, "spool.db"))
	l := newLab(t, webhook.Config{
		Space:   func(context.Context) error { return errFull },
		Short:   func(context.Context) (webhook.Shortage, error) { return webhook.Critical, nil },
		Release: emergency.Release,
	}, st, err)
	held, _ := l.add("")
	for range 60 {
		l.ready()
	}
	deleted, _ := l.add("")
	l.must(emergency.Hold())
	_, err = st.Writer().ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`) // it may have space for a few changes
	l.must(err)
	rig.Fill(t, dir)
	if _, _, err := store.WebhooksOf(st).FreeSpace(t.Context(), true, 60); video.KindOf(err) != video.InsufficientStorage {
		t.Fatalf("removing events on a full disk: %v; want that it has no space", err)
	}
	l.must(l.Delete(t.Context(), l.by, deleted.ID))
	l.run()
	eventually(t, "all events go", func() bool { return len(l.log(held)) == 0 })
	if emergency.Held() > 0 {
		t.Error("the space that is held was not needed")
	}
}

// A deletion does not wait until somebody looks for space the next time.
func TestADeletionFreesSpaceAtOnce(t *testing.T) {
	t.Parallel()
	shortage := webhook.Short
	l := onSQLite(t, webhook.Config{
		Space: func(context.Context) error { return errFull },
		Short: func(context.Context) (webhook.Shortage, error) { return shortage, nil },
	})
	held, _ := l.add("")
	l.ready()
	d := webhook.NewDispatcher(l.store, l.Service, l.config, slog.New(slog.DiscardHandler))
	d.FreeSpace(t.Context())
	if n := len(l.log(held)); n != 1 {
		t.Errorf("with some space left, %d events stay; want 1", n)
	}
	shortage = webhook.Critical
	d.FreeSpace(t.Context())
	if n := len(l.log(held)); n != 0 {
		t.Errorf("with no space left, %d events stay; want none", n)
	}
}

// A removal has to be written to the database's log first, which cannot grow on a full disk.
func TestALargeLogGoesFromAFullDisk(t *testing.T) {
	t.Parallel()
	dir := rig.SmallDisk(t)
	st, err := store.OpenSQLite(t.Context(), filepath.Join(dir, "spool.db"))
	l := newLab(t, webhook.Config{Space: func(context.Context) error { return nil }, Release: store.DiskOf(st).ReuseLog}, st, err)
	w, _ := l.add("")
	for range 400 {
		l.ready()
	}
	newest := l.log(w)[0].ID // which goes last
	l.must(l.Delete(t.Context(), l.by, w.ID))
	_, err = st.Writer().ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	l.must(err)
	for range 5 { // the log has space for changes of this size
		l.add("")
	}
	rig.Fill(t, dir)
	rows := store.WebhooksOf(st)
	if _, err := rows.RemoveLogs(t.Context(), 500); video.KindOf(err) != video.InsufficientStorage {
		t.Fatalf("removing a large log at once from a full disk: %v; want that it has no space", err)
	}
	l.run()
	eventually(t, "its log is gone", func() bool {
		_, err := rows.Delivery(t.Context(), l.by.Tenant, newest)
		return video.KindOf(err) == video.NotFound
	})
}

// A webhook that was deleted is gone at once, and its log soon, also if the process died in between.
func TestTheLogOfADeletedWebhookGoes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(webhook.Config) *lab) {
		l := open(quick)
		w, _ := l.add("")
		l.ready()
		delivery := l.log(w)[0].ID
		l.must(l.Delete(t.Context(), l.by, w.ID))
		_, err := l.Get(t.Context(), l.by, w.ID)
		wantCode(t, err, video.NotFound, "webhook_not_found")
		wantCode(t, l.Replay(t.Context(), l.by, delivery), video.NotFound, "delivery_not_found")
		rows := store.WebhooksOf(l.store)
		if _, err := rows.Delivery(t.Context(), l.by.Tenant, delivery); err != nil {
			t.Fatalf("the log is gone before anybody removed it: %v", err)
		}
		l.run()
		eventually(t, "its log is gone", func() bool {
			_, err := rows.Delivery(t.Context(), l.by.Tenant, delivery)
			return video.KindOf(err) == video.NotFound
		})
	})
}
