package webhook_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

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
		stored := func() (n int) {
			l.must(l.store.QueryRow(t.Context(), `SELECT count(*) FROM webhook_delivery WHERE id = $1`, delivery).Scan(&n))
			return n
		}
		if stored() != 1 {
			t.Fatal("the log is gone before anybody removed it")
		}
		l.run()
		eventually(t, "its log is gone", func() bool { return stored() == 0 })
	})
}
