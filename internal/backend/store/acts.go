package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/video"
)

type doerKey struct{}

// WithDoer returns a context for transactions whose acts this doer is responsible for.
func WithDoer(ctx context.Context, d video.Doer) context.Context {
	return context.WithValue(ctx, doerKey{}, d)
}

// system does what Spool does by itself, such as the deletion of a video that has expired.
var system = video.Doer{Kind: video.DoerSystem, ID: "spool", Name: "Spool"}

// Did records in the audit log what this transaction changes, by the doer of the context. The transaction that makes a
// change says so: no change is kept without its entry, and no entry without its change.
func (t *Tx) Did(ctx context.Context, a video.Act) error {
	by, known := ctx.Value(doerKey{}).(video.Doer)
	if !known {
		by = system
	}
	if a.Tenant == "" {
		a.Tenant = by.Tenant
	}
	if a.Tenant == "" {
		if err := t.QueryRow(ctx, `SELECT tenant FROM video WHERE id = $1`, a.Video).Scan(&a.Tenant); err != nil {
			return Wrap("find the tenant of a change", err)
		}
	}
	_, err := t.Exec(ctx, "record a change", `
		INSERT INTO audit_entry (id, at, tenant, action, actor_kind, actor_id, actor_name, video_id, target, address)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		uuid.Must(uuid.NewV7()).String(), Millis(t.time()), a.Tenant, a.Action, by.Kind, by.ID, by.Name, NullText(string(a.Video)), NullText(a.Target), by.Address)
	return err
}
