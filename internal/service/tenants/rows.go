package tenants

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const tenantColumns = `name, videos, bytes, in_work, CASE WHEN processed_day = $1 THEN processed_us ELSE 0 END,
	max_videos, max_bytes, max_minutes, max_in_work`

// dayOf numbers the days, UTC, from 1970 on.
func dayOf(t time.Time) int64 { return t.UTC().Unix() / (24 * 60 * 60) }

// UsageOf returns what a tenant uses at now. A tenant that never did anything uses
// nothing and has no limits.
func UsageOf(ctx context.Context, q store.Queries, name video.Tenant, now time.Time) (video.Usage, error) {
	found, err := store.Collect(ctx, q, "read usage", scanTenant, `SELECT `+tenantColumns+` FROM tenant WHERE name = $2`, dayOf(now), name)
	if err != nil || len(found) == 0 {
		return video.Usage{}, err
	}
	return found[0].Usage, nil
}

// listTenants returns all tenants that have a key, a video or limits, by name.
func listTenants(ctx context.Context, q store.Queries, now time.Time) ([]Tenant, error) {
	return store.Collect(ctx, q, "list tenants", scanTenant, `SELECT `+tenantColumns+` FROM tenant ORDER BY name`, dayOf(now))
}

// pageOfTenants returns at most limit tenants by name, from the one after a name on.
func pageOfTenants(ctx context.Context, q store.Queries, after video.Tenant, limit int, now time.Time) ([]Tenant, error) {
	return store.Collect(ctx, q, "list tenants", scanTenant,
		`SELECT `+tenantColumns+` FROM tenant WHERE name > $2 ORDER BY name LIMIT $3`, dayOf(now), after, limit)
}

func scanTenant(row *sql.Rows) (Tenant, error) {
	var t Tenant
	var micros int64
	l := &t.Limits
	err := row.Scan(&t.Name, &t.Videos, &t.Bytes, &t.InWork, &micros, &l.Videos, &l.Bytes, &l.MinutesPerDay, &l.InWork)
	t.LengthToday = time.Duration(micros) * time.Microsecond
	return t, err
}

// setLimits replaces the limits of a tenant.
func setLimits(ctx context.Context, tx *store.Tx, name video.Tenant, l video.Limits) error {
	_, err := tx.Exec(ctx, "set limits", `
		INSERT INTO tenant (name, max_videos, max_bytes, max_minutes, max_in_work) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (name) DO UPDATE SET max_videos = excluded.max_videos, max_bytes = excluded.max_bytes,
		       max_minutes = excluded.max_minutes, max_in_work = excluded.max_in_work`,
		name, l.Videos, l.Bytes, l.MinutesPerDay, l.InWork)
	return err
}

// AddLength adds the length of a video to what a tenant has used of its minutes of the day.
func AddLength(ctx context.Context, tx *store.Tx, name video.Tenant, d time.Duration, now time.Time) error {
	_, err := tx.Exec(ctx, "count minutes", `
		INSERT INTO tenant (name, processed_day, processed_us) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET processed_day = excluded.processed_day,
		       processed_us = excluded.processed_us + CASE WHEN tenant.processed_day = excluded.processed_day THEN tenant.processed_us ELSE 0 END`,
		name, dayOf(now), d.Microseconds())
	return err
}
