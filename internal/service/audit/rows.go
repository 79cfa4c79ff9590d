package audit

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// entriesOf lists at most limit entries of a tenant, newest first, from after on.
func entriesOf(ctx context.Context, q store.Queries, tenant video.Tenant, f Filter, after video.Cursor, limit int) ([]video.AuditEntry, error) {
	where, args := `tenant = $1`, []any{tenant}
	and := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			places[i] = len(args)
		}
		where += " AND " + fmt.Sprintf(condition, places...)
	}
	if f.Actor != "" {
		and(`actor_id = $%d`, f.Actor)
	}
	if f.Action != "" {
		and(`action = $%d`, f.Action)
	}
	if after != (video.Cursor{}) {
		and(`(at, id) < ($%d, $%d)`, store.Millis(after.CreatedAt), after.ID)
	}
	args = append(args, limit)
	return store.Collect(ctx, q, "read the audit log", scanEntry, `
		SELECT id, at, tenant, action, actor_kind, actor_id, actor_name, video_id, target, address FROM audit_entry
		 WHERE `+where+fmt.Sprintf(` ORDER BY at DESC, id DESC LIMIT $%d`, len(args)), args...)
}

func scanEntry(row *sql.Rows) (e video.AuditEntry, err error) {
	var at sql.NullInt64
	var id, target sql.NullString
	err = row.Scan(&e.ID, &at, &e.Tenant, &e.Action, &e.Doer.Kind, &e.Doer.ID, &e.Doer.Name, &id, &target, &e.Doer.Address)
	e.At, e.Video, e.Target = store.FromMillis(at), video.ID(id.String), target.String
	return e, err
}

// removeBefore removes at most limit entries from before a time, and returns how many.
func removeBefore(ctx context.Context, tx *store.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, "remove old audit entries", `
		DELETE FROM audit_entry WHERE id IN (SELECT id FROM audit_entry WHERE at < $1 ORDER BY at LIMIT $2)`, store.Millis(before), limit)
}
