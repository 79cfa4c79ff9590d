package webhook_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// A worker with the rights that the guide gives it records events, though it cannot read where they go.
func TestAWorkerRecordsEvents(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), migrated.Fresh(t)
	st, err := store.OpenPostgres(ctx, address)
	l := newLab(t, quick, st, err)
	r := newReceiver(t, status(204))
	w, _ := l.add(r.URL)
	worker, err := store.OpenPostgres(ctx, pgtest.WorkerAddress(t, address, "../../../docs"))
	l.must(err)
	defer worker.Close()
	q, err := river.Open(ctx, worker, river.Options{})
	l.must(err)
	webhook.Record(worker, q)
	v := video.Video{ID: video.ID(uuid.NewString()), Tenant: l.by.Tenant, Status: video.Processing, CreatedAt: time.Now(), UploadExpiresAt: time.Now()}
	err = worker.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.InsertVideo(ctx, v); err != nil {
			return err
		}
		return tx.MoveVideo(ctx, v.ID, video.Ready, nil)
	})
	if err != nil {
		t.Fatalf("a worker cannot change a video of a tenant with a webhook: %v", err)
	}
	l.run()
	if d := l.inState(w, webhook.Delivered); len(d) != 1 || d[0].Type != video.EventReady {
		t.Errorf("deliveries: %+v; want one", d)
	}
}

// A delivery that is concluded while its webhook is being disabled stays what it was concluded as.
func TestDisablingKeepsWhatWasDelivered(t *testing.T) {
	t.Parallel()
	l, ctx := onDatabase(t, quick, true), t.Context()
	w, _ := l.add("http://127.0.0.1:1/")
	l.ready()
	id, disabled := l.log(w)[0].ID, make(chan error, 1)
	l.must(l.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "deliver", `UPDATE webhook_delivery SET state = 'delivered' WHERE id = $1`, id); err != nil {
			return err
		}
		go func() {
			_, err := l.Update(ctx, l.by, w.ID, webhook.Changes{Enabled: new(false)})
			disabled <- err
		}()
		eventually(t, "the change waits", func() bool {
			var waiting int
			l.must(l.store.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
			return waiting > 0
		})
		return nil
	}))
	l.must(<-disabled)
	if d := l.log(w)[0]; d.State != webhook.Delivered {
		t.Errorf("the delivery is %s; want delivered", d.State)
	}
}
