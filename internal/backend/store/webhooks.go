package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Webhook is where a tenant wants its events.
type Webhook struct {
	ID             string
	Tenant         video.Tenant
	URL            string
	Pull           bool              // there is no URL: the tenant fetches the events
	Events         []video.EventType // none: all
	Description    string
	Enabled        bool
	DisabledReason string
	CreatedAt      time.Time
}

// Wants reports whether events of a type are for the webhook.
func (w Webhook) Wants(kind video.EventType) bool {
	return len(w.Events) == 0 || slices.Contains(w.Events, kind)
}

// unfinishedState is the state of a delivery that is not finished.
func (w Webhook) unfinishedState() DeliveryState {
	if w.Pull {
		return DeliveryHeld
	}
	return DeliveryPending
}

// WebhookSecret signs messages.
type WebhookSecret struct {
	Secret    string
	CreatedAt time.Time
	ExpiresAt time.Time // zero: it is the current one
}

// Webhooks is the part of the store that knows webhooks and their deliveries. Each
// method is a transaction of its own.
type Webhooks struct{ s *Store }

// WebhooksOf returns the webhooks of a store.
func WebhooksOf(s *Store) Webhooks { return Webhooks{s} }

// WebhookNotFound is the answer for a webhook that does not exist.
func WebhookNotFound() *video.Error {
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

// Insert stores a webhook with its secret. It reports false, and stores nothing, if its
// tenant has most of them already.
func (w Webhooks) Insert(ctx context.Context, h Webhook, secret string, most int) (inserted bool, err error) {
	err = w.s.InTx(ctx, func(tx *Tx) error {
		inserted = false
		// Of two requests for the last place, one waits here for the other.
		if err := tx.LockTenant(ctx, h.Tenant); err != nil {
			return err
		}
		var n int
		if err := tx.db.QueryRowContext(ctx, `SELECT count(*) FROM webhook WHERE tenant = $1`, h.Tenant).Scan(&n); err != nil || n >= most {
			return Wrap("count webhooks", err)
		}
		if _, err := tx.Exec(ctx, "insert webhook", `
			INSERT INTO webhook (id, tenant, url, pull, events, description, enabled, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			h.ID, h.Tenant, h.URL, h.Pull, joinEvents(h.Events), h.Description, h.Enabled, Millis(h.CreatedAt)); err != nil {
			return err
		}
		inserted = true
		return tx.insertSecret(ctx, h.ID, secret, h.CreatedAt)
	})
	return inserted && err == nil, err
}

func (t *Tx) insertSecret(ctx context.Context, id, secret string, at time.Time) error {
	_, err := t.Exec(ctx, "insert secret", `
		INSERT INTO webhook_secret (webhook_id, secret, created_at) VALUES ($1, $2, $3)`, id, secret, Millis(at))
	return err
}

const selectWebhook = `SELECT id, tenant, url, pull, events, description, enabled, disabled_reason, created_at FROM webhook `

func scanWebhook(row *sql.Rows) (h Webhook, err error) {
	var events string
	var created sql.NullInt64
	err = row.Scan(&h.ID, &h.Tenant, &h.URL, &h.Pull, &events, &h.Description, &h.Enabled, &h.DisabledReason, &created)
	h.Events, h.CreatedAt = splitEvents(events), FromMillis(created)
	return h, err
}

// List returns the webhooks of a tenant, oldest first.
func (w Webhooks) List(ctx context.Context, tenant video.Tenant) ([]Webhook, error) {
	return Collect(ctx, w.s.Queries, "read webhooks", scanWebhook, selectWebhook+`WHERE tenant = $1 ORDER BY created_at, id`, tenant)
}

// Get returns a webhook of a tenant.
func (w Webhooks) Get(ctx context.Context, tenant video.Tenant, id string) (Webhook, error) {
	return w.s.Queries.webhook(ctx, tenant, id)
}

func (q Queries) webhook(ctx context.Context, tenant video.Tenant, id string) (Webhook, error) {
	found, err := Collect(ctx, q, "read webhook", scanWebhook, selectWebhook+`WHERE id = $1 AND tenant = $2`, id, tenant)
	if err == nil && len(found) == 0 {
		return Webhook{}, WebhookNotFound()
	}
	if err != nil {
		return Webhook{}, err
	}
	return found[0], nil
}

// lockWebhook returns a webhook of a tenant and locks it until the transaction ends, so that what was read is
// still true when it is changed. SQLite has one writer at a time anyway.
func (t *Tx) lockWebhook(ctx context.Context, tenant video.Tenant, id string) (Webhook, error) {
	if _, err := t.Exec(ctx, "lock webhook", `UPDATE webhook SET tenant = tenant WHERE id = $1 AND tenant = $2`, id, tenant); err != nil {
		return Webhook{}, err
	}
	return t.webhook(ctx, tenant, id)
}

// ByID returns the webhooks with these ids, as far as they exist.
func (w Webhooks) ByID(ctx context.Context, ids []string) (map[string]Webhook, error) {
	in, arg := IDList(1, ids)
	found, err := Collect(ctx, w.s.Queries, "read webhooks", scanWebhook, selectWebhook+`WHERE id IN `+in, arg)
	all := make(map[string]Webhook, len(found))
	for _, h := range found {
		all[h.ID] = h
	}
	return all, err
}

// Secrets returns the secrets of webhooks that have not expired at now, newest first.
func (w Webhooks) Secrets(ctx context.Context, ids []string, now time.Time) (map[string][]WebhookSecret, error) {
	in, arg := IDList(1, ids)
	all := make(map[string][]WebhookSecret, len(ids))
	_, err := Collect(ctx, w.s.Queries, "read secrets", func(row *sql.Rows) (none struct{}, err error) {
		var id string
		var s WebhookSecret
		var created, expires sql.NullInt64
		if err := row.Scan(&id, &s.Secret, &created, &expires); err != nil {
			return none, err
		}
		s.CreatedAt, s.ExpiresAt = FromMillis(created), FromMillis(expires)
		if s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) {
			all[id] = append(all[id], s)
		}
		return none, nil
	}, `SELECT webhook_id, secret, created_at, expires_at FROM webhook_secret WHERE webhook_id IN `+in, arg)
	for id := range all {
		slices.SortFunc(all[id], func(a, b WebhookSecret) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	return all, err
}

// Update changes a webhook of a tenant and returns it. Disabling one ends what was
// still to be delivered to it.
func (w Webhooks) Update(ctx context.Context, tenant video.Tenant, id string, change func(*Webhook) error) (h Webhook, err error) {
	for open := true; open && err == nil; {
		err = w.s.InTx(ctx, func(tx *Tx) error {
			h, open, err = tx.updateWebhook(ctx, tenant, id, change)
			return err
		})
	}
	return h, err
}

// updateWebhook reports true, and has changed nothing, if the webhook would be enabled while deliveries are
// open from before: those must not be sent any more.
func (t *Tx) updateWebhook(ctx context.Context, tenant video.Tenant, id string, change func(*Webhook) error) (h Webhook, open bool, err error) {
	if h, err = t.lockWebhook(ctx, tenant, id); err != nil {
		return h, false, err
	}
	wasEnabled := h.Enabled
	if err := change(&h); err != nil {
		return h, false, err
	}
	if h.Enabled {
		h.DisabledReason = ""
	}
	if !wasEnabled && h.Enabled {
		if open, err = t.endRest(ctx, id, endedAtOnce); open || err != nil {
			return h, open, err
		}
	}
	if _, err := t.Exec(ctx, "change webhook", `
		UPDATE webhook SET url = $1, events = $2, description = $3, enabled = $4, disabled_reason = $5 WHERE id = $6`,
		h.URL, joinEvents(h.Events), h.Description, h.Enabled, h.DisabledReason, id); err != nil || h.Enabled {
		return h, false, err
	}
	return h, false, t.endOpen(ctx, id, endedAtOnce)
}

// Remove deletes a webhook of a tenant with its secrets. From then on nothing is sent to it, and its
// log cannot be read. RemoveLogs removes the log in steps, because it may be long.
func (w Webhooks) Remove(ctx context.Context, tenant video.Tenant, id string) error {
	return w.s.InTx(ctx, func(tx *Tx) error {
		n, err := tx.Exec(ctx, "remove webhook", `DELETE FROM webhook WHERE id = $1 AND tenant = $2`, id, tenant)
		if err == nil && n == 0 {
			return WebhookNotFound()
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "remove secrets", `DELETE FROM webhook_secret WHERE webhook_id = $1`, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "remove log", `
			INSERT INTO webhook_removed (id, removed_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, id, Millis(tx.now()))
		return err
	})
}

// RotateSecret gives a webhook of a tenant another secret. The former one expires at the
// given time; those before it end now, so that there are never more than two.
func (w Webhooks) RotateSecret(ctx context.Context, tenant video.Tenant, id, secret string, now, expires time.Time) error {
	return w.s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.lockWebhook(ctx, tenant, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "remove former secrets", `
			DELETE FROM webhook_secret WHERE webhook_id = $1 AND expires_at IS NOT NULL`, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "expire secret", `
			UPDATE webhook_secret SET expires_at = $1 WHERE webhook_id = $2 AND expires_at IS NULL`, Millis(expires), id); err != nil {
			return err
		}
		return tx.insertSecret(ctx, id, secret, now)
	})
}
