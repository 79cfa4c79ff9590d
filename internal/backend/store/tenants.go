package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Tenants is the part of the store that knows what each tenant uses and may use.
//
// Each tenant has a row with its counts. Every statement that changes what a video
// counts for changes that row in the same transaction (Tx.change), so the counts
// are always exact. On PostgreSQL the row is locked from then on: of two
// transactions that use up the last of a limit, the second one sees the first.
type Tenants struct {
	q  Queries
	tx *Tx // nil outside a transaction
}

// TenantsOf returns the tenants of a store, for reading.
func TenantsOf(s *Store) Tenants { return Tenants{q: s.Queries} }

// TenantsIn returns the tenants as a transaction sees and changes them.
func TenantsIn(t *Tx) Tenants { return Tenants{t.Queries, t} }

// Tenant is a tenant and its usage.
type Tenant struct {
	Name video.Tenant
	video.Usage
}

const tenantColumns = `videos, bytes, in_work, CASE WHEN processed_day = $1 THEN processed_us ELSE 0 END,
	max_videos, max_bytes, max_minutes, max_in_work`

// dayOf numbers the days, UTC, from 1970 on.
func dayOf(t time.Time) int64 { return t.UTC().Unix() / (24 * 60 * 60) }

// Usage returns what a tenant uses at now. A tenant that never did anything uses
// nothing and has no limits.
func (t Tenants) Usage(ctx context.Context, name video.Tenant, now time.Time) (video.Usage, error) {
	one, err := scanTenant(t.q.db.QueryRowContext(ctx, `SELECT name, `+tenantColumns+` FROM tenant WHERE name = $2`, dayOf(now), name))
	if errors.Is(err, sql.ErrNoRows) {
		return video.Usage{}, nil
	}
	return one.Usage, Wrap("read usage", err)
}

// List returns all tenants that have a key, a video or limits, by name.
func (t Tenants) List(ctx context.Context, now time.Time) ([]Tenant, error) {
	return Collect(ctx, t.q, "list tenants", func(row *sql.Rows) (Tenant, error) { return scanTenant(row) },
		`SELECT name, `+tenantColumns+` FROM tenant ORDER BY name`, dayOf(now))
}

// Page returns at most limit tenants by name, from the one after a name on.
func (t Tenants) Page(ctx context.Context, after video.Tenant, limit int, now time.Time) ([]Tenant, error) {
	return Collect(ctx, t.q, "list tenants", func(row *sql.Rows) (Tenant, error) { return scanTenant(row) },
		`SELECT name, `+tenantColumns+` FROM tenant WHERE name > $2 ORDER BY name LIMIT $3`, dayOf(now), after, limit)
}

func scanTenant(row interface{ Scan(...any) error }) (Tenant, error) {
	var t Tenant
	var micros int64
	l := &t.Limits
	err := row.Scan(&t.Name, &t.Videos, &t.Bytes, &t.InWork, &micros, &l.Videos, &l.Bytes, &l.MinutesPerDay, &l.InWork)
	t.LengthToday = time.Duration(micros) * time.Microsecond
	return t, err
}

// SetLimits replaces the limits of a tenant.
func (t Tenants) SetLimits(ctx context.Context, name video.Tenant, l video.Limits) error {
	_, err := t.q.Exec(ctx, "set limits", `
		INSERT INTO tenant (name, max_videos, max_bytes, max_minutes, max_in_work) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (name) DO UPDATE SET max_videos = excluded.max_videos, max_bytes = excluded.max_bytes,
		       max_minutes = excluded.max_minutes, max_in_work = excluded.max_in_work`,
		name, l.Videos, l.Bytes, l.MinutesPerDay, l.InWork)
	return err
}

// AddLength adds the length of a video to what a tenant has used of its minutes of the day.
func (t Tenants) AddLength(ctx context.Context, name video.Tenant, d time.Duration, now time.Time) error {
	_, err := t.q.Exec(ctx, "count minutes", `
		INSERT INTO tenant (name, processed_day, processed_us) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET processed_day = excluded.processed_day,
		       processed_us = excluded.processed_us + CASE WHEN tenant.processed_day = excluded.processed_day THEN tenant.processed_us ELSE 0 END`,
		name, dayOf(now), d.Microseconds())
	return err
}

// CountUpload counts the uploaded file of a video that has not been completed yet, or
// none with size 0. It replaces the one before. It changes nothing for a video that
// was completed or deleted.
func (t Tenants) CountUpload(ctx context.Context, id video.ID, size int64) error {
	_, err := t.tx.change(ctx, "count upload", id, `
		UPDATE video SET source_size = $1
		 WHERE id = $2 AND completed_at IS NULL AND deleted_at IS NULL AND coalesce(source_size, 0) <> $1`, size, id)
	return err
}

// counts are what videos count for.
type counts struct{ videos, bytes, inWork int64 }

// countColumns are what one video counts for.
const countColumns = `
	CASE WHEN deleted_at IS NULL AND (status <> 'fail' OR completed_at IS NOT NULL) THEN 1 ELSE 0 END AS videos,
	CASE WHEN deleted_at IS NULL THEN coalesce(source_size, 0) ELSE 0 END AS bytes,
	CASE WHEN deleted_at IS NULL AND status = 'processing' THEN 1 ELSE 0 END AS in_work`

// change runs a statement that changes what a video counts for, and adds the
// difference to the row of its tenant. The video is locked first: otherwise the
// difference could be to a state that another transaction is just leaving.
func (t *Tx) change(ctx context.Context, op string, id video.ID, query string, args ...any) (int64, error) {
	tenant, before, err := t.countsOf(ctx, id)
	if err != nil {
		return 0, err
	}
	n, err := t.Exec(ctx, op, query, args...)
	if err != nil || n == 0 {
		return n, err
	}
	now, after, err := t.countsOf(ctx, id)
	if err != nil {
		return n, err
	}
	if tenant == "" {
		tenant = now // the video is new
	}
	return n, t.addCounts(ctx, tenant, counts{after.videos - before.videos, after.bytes - before.bytes, after.inWork - before.inWork})
}

// countsOf returns the tenant of a video and what the video counts for. A video that
// does not exist counts for nothing.
func (t *Tx) countsOf(ctx context.Context, id video.ID) (tenant video.Tenant, c counts, err error) {
	query := `SELECT tenant, ` + countColumns + ` FROM video WHERE id = $1`
	if t.postgres {
		query += ` FOR NO KEY UPDATE`
	}
	err = t.db.QueryRowContext(ctx, query, id).Scan(&tenant, &c.videos, &c.bytes, &c.inWork)
	if errors.Is(err, sql.ErrNoRows) {
		return "", counts{}, nil
	}
	return tenant, c, Wrap("count video", err)
}

func (t *Tx) addCounts(ctx context.Context, tenant video.Tenant, c counts) error {
	if c == (counts{}) {
		return nil
	}
	_, err := t.Exec(ctx, "count video", `
		INSERT INTO tenant (name, videos, bytes, in_work) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET videos = tenant.videos + excluded.videos,
		       bytes = tenant.bytes + excluded.bytes, in_work = tenant.in_work + excluded.in_work`,
		tenant, c.videos, c.bytes, c.inWork)
	return err
}

// LockTenant creates the row of a tenant if it is missing, and locks it until the end of the transaction.
func (t *Tx) LockTenant(ctx context.Context, name video.Tenant) error {
	_, err := t.Exec(ctx, "lock tenant", `
		INSERT INTO tenant (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name`, name)
	return err
}

// Names returns all tenants that have a key, a video or limits.
func (t Tenants) Names(ctx context.Context) ([]video.Tenant, error) {
	return Collect(ctx, t.q, "list tenants", func(row *sql.Rows) (name video.Tenant, err error) {
		err = row.Scan(&name)
		return name, err
	}, `SELECT name FROM tenant ORDER BY name`)
}

// Recount counts the videos of a tenant again, and reports whether its row was wrong. A restore changes videos without
// counting them.
func (t Tenants) Recount(ctx context.Context, name video.Tenant) (wrong bool, err error) {
	var row, real counts
	// Everybody who changes a count of the tenant waits from here on, and what was
	// committed before is seen below.
	err = t.q.db.QueryRowContext(ctx, `
		INSERT INTO tenant (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name
		RETURNING videos, bytes, in_work`, name).Scan(&row.videos, &row.bytes, &row.inWork)
	if err != nil {
		return false, Wrap("recount tenant", err)
	}
	err = t.q.db.QueryRowContext(ctx, `
		SELECT CAST(coalesce(sum(videos), 0) AS BIGINT), CAST(coalesce(sum(bytes), 0) AS BIGINT), CAST(coalesce(sum(in_work), 0) AS BIGINT)
		  FROM (SELECT `+countColumns+` FROM video WHERE tenant = $1 AND deleted_at IS NULL) AS v`,
		name).Scan(&real.videos, &real.bytes, &real.inWork)
	if err != nil || row == real {
		return false, Wrap("recount tenant", err)
	}
	return true, t.tx.addCounts(ctx, name, counts{real.videos - row.videos, real.bytes - row.bytes, real.inWork - row.inWork})
}
