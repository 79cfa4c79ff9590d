package webhook

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// secretRow is a secret that signs messages.
type secretRow struct {
	Secret    string
	CreatedAt time.Time
	ExpiresAt time.Time // zero: it is the current one
}

// rows are the webhooks of a database and their deliveries. Each method is a transaction of its own.
type rows struct {
	store  *store.Store
	record recorder
}

// webhookNotFound is the answer for a webhook that does not exist.
func webhookNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "webhook_not_found", Msg: "There is no such webhook."}
}

func splitEvents(text string) []video.EventType {
	var all []video.EventType
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		all = append(all, video.EventType(s))
	}
	return all
}

func joinEvents(all []video.EventType) string {
	words := make([]string, len(all))
	for i, e := range all {
		words[i] = string(e)
	}
	return strings.Join(words, ",")
}

// insert stores a webhook with its secret. It reports false, and stores nothing, if its
// tenant has most of them already.
func (r rows) insert(ctx context.Context, h Webhook, secret string, most int) (inserted bool, err error) {
	err = r.store.InTx(ctx, func(tx *store.Tx) error {
		inserted, err = insertWebhook(ctx, tx, h, secret, most)
		return err
	})
	return inserted && err == nil, err
}

func insertWebhook(ctx context.Context, tx *store.Tx, h Webhook, secret string, most int) (inserted bool, err error) {
	// Of two requests for the last place, one waits here for the other.
	if err := tx.LockTenant(ctx, h.Tenant); err != nil {
		return false, err
	}
	var n int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM webhook WHERE tenant = $1`, h.Tenant).Scan(&n); err != nil || n >= most {
		return false, store.Wrap("count webhooks", err)
	}
	if _, err := tx.Exec(ctx, "insert webhook", `
		INSERT INTO webhook (id, tenant, url, pull, events, description, enabled, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		h.ID, h.Tenant, h.URL, h.Pull, joinEvents(h.Events), h.Description, h.Enabled, store.Millis(h.CreatedAt)); err != nil {
		return false, err
	}
	if err := insertSecret(ctx, tx, h.ID, secret, h.CreatedAt); err != nil {
		return false, err
	}
	return true, did(ctx, tx, video.ActionWebhookCreate, h.Tenant, h.ID)
}

func insertSecret(ctx context.Context, tx *store.Tx, id, secret string, at time.Time) error {
	_, err := tx.Exec(ctx, "insert secret", `
		INSERT INTO webhook_secret (webhook_id, secret, created_at) VALUES ($1, $2, $3)`, id, secret, store.Millis(at))
	return err
}

// did records a change of a webhook.
func did(ctx context.Context, tx *store.Tx, a video.Action, tenant video.Tenant, webhook string) error {
	return tx.Did(ctx, video.Act{Action: a, Tenant: tenant, Target: webhook})
}

const selectWebhook = `SELECT id, tenant, url, pull, events, description, enabled, disabled_reason, created_at FROM webhook `

func scanWebhook(row *sql.Rows) (h Webhook, err error) {
	var events string
	var created sql.NullInt64
	err = row.Scan(&h.ID, &h.Tenant, &h.URL, &h.Pull, &events, &h.Description, &h.Enabled, &h.DisabledReason, &created)
	h.Events, h.CreatedAt = splitEvents(events), store.FromMillis(created)
	return h, err
}

// webhooksOf returns the webhooks of a tenant, oldest first.
func webhooksOf(ctx context.Context, q store.Queries, tenant video.Tenant) ([]Webhook, error) {
	return store.Collect(ctx, q, "read webhooks", scanWebhook, selectWebhook+`WHERE tenant = $1 ORDER BY created_at, id`, tenant)
}

// findWebhook returns a webhook of a tenant.
func findWebhook(ctx context.Context, q store.Queries, tenant video.Tenant, id string) (Webhook, error) {
	found, err := store.Collect(ctx, q, "read webhook", scanWebhook, selectWebhook+`WHERE id = $1 AND tenant = $2`, id, tenant)
	if err == nil && len(found) == 0 {
		return Webhook{}, webhookNotFound()
	}
	if err != nil {
		return Webhook{}, err
	}
	return found[0], nil
}

// lockWebhook returns a webhook of a tenant and locks it until the transaction ends, so that what was read is
// still true when it is changed. SQLite has one writer at a time anyway.
func lockWebhook(ctx context.Context, tx *store.Tx, tenant video.Tenant, id string) (Webhook, error) {
	if _, err := tx.Exec(ctx, "lock webhook", `UPDATE webhook SET tenant = tenant WHERE id = $1 AND tenant = $2`, id, tenant); err != nil {
		return Webhook{}, err
	}
	return findWebhook(ctx, tx.Queries, tenant, id)
}

// webhooksByID returns the webhooks with these ids, as far as they exist.
func webhooksByID(ctx context.Context, q store.Queries, ids []string) (map[string]Webhook, error) {
	in, arg := store.IDList(1, ids)
	found, err := store.Collect(ctx, q, "read webhooks", scanWebhook, selectWebhook+`WHERE id IN `+in, arg)
	all := make(map[string]Webhook, len(found))
	for _, h := range found {
		all[h.ID] = h
	}
	return all, err
}

// secretsOf returns the secrets of webhooks that have not expired at now, newest first.
func secretsOf(ctx context.Context, q store.Queries, ids []string, now time.Time) (map[string][]secretRow, error) {
	in, arg := store.IDList(1, ids)
	all := make(map[string][]secretRow, len(ids))
	_, err := store.Collect(ctx, q, "read secrets", func(row *sql.Rows) (none struct{}, err error) {
		var id string
		var s secretRow
		var created, expires sql.NullInt64
		if err := row.Scan(&id, &s.Secret, &created, &expires); err != nil {
			return none, err
		}
		s.CreatedAt, s.ExpiresAt = store.FromMillis(created), store.FromMillis(expires)
		if s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) {
			all[id] = append(all[id], s)
		}
		return none, nil
	}, `SELECT webhook_id, secret, created_at, expires_at FROM webhook_secret WHERE webhook_id IN `+in, arg)
	for id := range all {
		slices.SortFunc(all[id], func(a, b secretRow) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	return all, err
}

// update changes a webhook of a tenant and returns it. Disabling one ends what was
// still to be delivered to it.
func (r rows) update(ctx context.Context, tenant video.Tenant, id string, change func(*Webhook)) (h Webhook, err error) {
	for open := true; open && err == nil; {
		err = r.store.InTx(ctx, func(tx *store.Tx) error {
			h, open, err = r.updateWebhook(ctx, tx, tenant, id, change)
			return err
		})
	}
	return h, err
}

// updateWebhook reports true, and has not changed the webhook, if it would be enabled while deliveries are open from
// before: those must not be sent any more. It has ended some of them.
func (r rows) updateWebhook(ctx context.Context, tx *store.Tx, tenant video.Tenant, id string, change func(*Webhook)) (h Webhook, open bool, err error) {
	if h, err = lockWebhook(ctx, tx, tenant, id); err != nil {
		return h, false, err
	}
	wasEnabled := h.Enabled
	change(&h)
	if h.Enabled {
		h.DisabledReason = ""
	}
	if !wasEnabled && h.Enabled {
		if open, err = failOpen(ctx, tx, id, stepSize); open || err != nil {
			return h, open, err
		}
	}
	if _, err := tx.Exec(ctx, "change webhook", `
		UPDATE webhook SET url = $1, events = $2, description = $3, enabled = $4, disabled_reason = $5 WHERE id = $6`,
		h.URL, joinEvents(h.Events), h.Description, h.Enabled, h.DisabledReason, id); err != nil {
		return h, false, err
	}
	if err := did(ctx, tx, video.ActionWebhookUpdate, tenant, id); err != nil || h.Enabled {
		return h, false, err
	}
	return h, false, r.record.endOpen(ctx, tx, tenant, id)
}

// remove deletes a webhook of a tenant with its secrets. From then on nothing is sent to it, and its
// log cannot be read. A task removes the log in steps, because it may be long.
func (r rows) remove(ctx context.Context, tenant video.Tenant, id string) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, "remove webhook", `DELETE FROM webhook WHERE id = $1 AND tenant = $2`, id, tenant)
		if err == nil && n == 0 {
			return webhookNotFound()
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "remove secrets", `DELETE FROM webhook_secret WHERE webhook_id = $1`, id); err != nil {
			return err
		}
		if err := did(ctx, tx, video.ActionWebhookDelete, tenant, id); err != nil {
			return err
		}
		return r.record.cleanUpLater(ctx, tx, tenant, id)
	})
}

// rotateSecret gives a webhook of a tenant another secret. The former one expires at the
// given time; those before it end now, so that there are never more than two.
func (r rows) rotateSecret(ctx context.Context, tenant video.Tenant, id, secret string, now, expires time.Time) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := lockWebhook(ctx, tx, tenant, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "remove former secrets", `
			DELETE FROM webhook_secret WHERE webhook_id = $1 AND expires_at IS NOT NULL`, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "expire secret", `
			UPDATE webhook_secret SET expires_at = $1 WHERE webhook_id = $2 AND expires_at IS NULL`, store.Millis(expires), id); err != nil {
			return err
		}
		if err := did(ctx, tx, video.ActionWebhookRotate, tenant, id); err != nil {
			return err
		}
		return insertSecret(ctx, tx, id, secret, now)
	})
}

// DisableAll disables all webhooks and ends what was still to be delivered to them.
func DisableAll(ctx context.Context, tx *store.Tx, reason string) error {
	if _, err := tx.Exec(ctx, "disable webhooks", `UPDATE webhook SET enabled = FALSE, disabled_reason = $1 WHERE enabled`, reason); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "end deliveries", `
		UPDATE webhook_delivery SET state = 'failed', next_at = NULL, lease = NULL WHERE state IN ('pending', 'held')`)
	return err
}
