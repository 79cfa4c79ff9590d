package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spool-video/spool/internal/video"
)

// CountUpload counts the uploaded file of a video that has not been completed yet, or
// none with size 0. It replaces the one before. It changes nothing for a video that
// was completed or deleted.
func (t *Tx) CountUpload(ctx context.Context, id video.ID, size int64) error {
	n, err := t.change(ctx, "count upload", id, `
		UPDATE video SET source_size = $1
		 WHERE id = $2 AND completed_at IS NULL AND deleted_at IS NULL AND coalesce(source_size, 0) <> $1`, size, id)
	if err != nil || n == 0 {
		return err
	}
	return t.measure(ctx, id)
}

// measure stores how large all files of a video are, after one of them came, went or changed.
func (t *Tx) measure(ctx context.Context, id video.ID) error {
	v, err := t.video(ctx, id, columnsWithoutPlan)
	if err != nil || v.Size() == v.SizeBytes {
		return err
	}
	_, err = t.Exec(ctx, "measure video", `UPDATE video SET size_bytes = $1 WHERE id = $2`, v.Size(), id)
	return err
}

// counts are what videos count for.
type counts struct{ videos, bytes, inWork int64 }

// countColumns are what one video counts for. A file that will replace another one is no video more.
const countColumns = `
	CASE WHEN deleted_at IS NULL AND replaces IS NULL AND (status <> 'fail' OR completed_at IS NOT NULL) THEN 1 ELSE 0 END AS videos,
	CASE WHEN deleted_at IS NULL THEN coalesce(source_size, 0) ELSE 0 END AS bytes,
	CASE WHEN deleted_at IS NULL AND status = 'processing' THEN 1 ELSE 0 END AS in_work`

// countedTags are the tags that a video counts for.
const countedTags = `CASE WHEN deleted_at IS NULL THEN tags END`

// change runs a statement that changes what a video counts for, and adds the
// difference to the rows of its tenant and of its tags, so the counts are always exact. On PostgreSQL
// that row is locked from then on: of two transactions that use up the last of a
// limit, the second one sees the first. The video is locked first: otherwise the
// difference could be to a state that another transaction is just leaving.
func (t *Tx) change(ctx context.Context, op string, id video.ID, query string, args ...any) (int64, error) {
	tenant, before, tagsBefore, err := t.countsOf(ctx, id)
	if err != nil {
		return 0, err
	}
	n, err := t.Exec(ctx, op, query, args...)
	if err != nil || n == 0 {
		return n, err
	}
	now, after, tags, err := t.countsOf(ctx, id)
	if err != nil {
		return n, err
	}
	if tenant == "" {
		tenant = now // the video is new
	}
	if err := t.addCounts(ctx, tenant, counts{after.videos - before.videos, after.bytes - before.bytes, after.inWork - before.inWork}); err != nil {
		return n, err
	}
	return n, t.moveTags(ctx, tenant, tagsBefore, tags)
}

// countsOf returns the tenant of a video and what the video counts for. A video that
// does not exist counts for nothing.
func (t *Tx) countsOf(ctx context.Context, id video.ID) (tenant video.Tenant, c counts, tags []string, err error) {
	query := `SELECT tenant, ` + countedTags + `, ` + countColumns + ` FROM video WHERE id = $1`
	if t.postgres {
		query += ` FOR NO KEY UPDATE`
	}
	err = t.db.QueryRowContext(ctx, query, id).Scan(&tenant, optionalJSON{&tags}, &c.videos, &c.bytes, &c.inWork)
	if errors.Is(err, sql.ErrNoRows) {
		return "", counts{}, nil, nil
	}
	return tenant, c, tags, Wrap("count video", err)
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

// RecountTenants counts the videos and the tags of all tenants again. A restore stores videos without counting them.
func (t *Tx) RecountTenants(ctx context.Context) error {
	if _, err := t.Exec(ctx, "recount tenants", `UPDATE tenant SET videos = 0, bytes = 0, in_work = 0`); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, "recount tenants", `
		INSERT INTO tenant (name, videos, bytes, in_work)
		SELECT tenant, sum(videos), sum(bytes), sum(in_work) FROM (SELECT tenant, `+countColumns+` FROM video) AS v GROUP BY tenant
		ON CONFLICT (name) DO UPDATE SET videos = excluded.videos, bytes = excluded.bytes, in_work = excluded.in_work`); err != nil {
		return err
	}
	return t.recountTags(ctx)
}
