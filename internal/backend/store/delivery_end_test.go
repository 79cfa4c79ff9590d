package store_test

import (
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
)

// A delivery that is concluded while its webhook is being disabled stays what it was concluded as.
func TestPostgresDisablingKeepsWhatWasDelivered(t *testing.T) {
	t.Parallel()
	st, ctx := openPostgres(t, migrated.Fresh(t)), t.Context()
	must(t, st.InTx(ctx, func(tx *store.Tx) error {
		for _, statement := range []string{
			`INSERT INTO webhook (id, tenant, url, pull, events, description, enabled, created_at) VALUES ('h', 't', '', FALSE, '', '', TRUE, 0)`,
			`INSERT INTO webhook_delivery (id, webhook_id, event_id, tenant, type, video_id, state, created_at) VALUES ('d', 'h', 'e', 't', '', 'v', 'pending', 0)`,
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}))
	done := make(chan error, 1)
	must(t, st.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE webhook_delivery SET state = 'delivered' WHERE id = 'd'`); err != nil {
			return err
		}
		go func() {
			_, err := store.WebhooksOf(st).Update(ctx, "t", "h", func(h *store.Webhook) error { h.Enabled = false; return nil })
			done <- err
		}()
		waitUntilBlocked(t, st)
		return nil
	}))
	must(t, <-done)
	var state string
	must(t, st.InTx(ctx, func(tx *store.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT state FROM webhook_delivery WHERE id = 'd'`).Scan(&state)
	}))
	if state != "delivered" {
		t.Errorf("the delivery is %s; want delivered", state)
	}
}
