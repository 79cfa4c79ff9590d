package store

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// mostLookedAt is how many videos a page looks at in search of labels, for which
// there is no index.
const mostLookedAt = 2_000

// Videos returns a page of a tenant's videos, newest first, and where the next
// one goes on; the zero Place after the last. It leaves out what is being
// deleted, and the plans of videos that are not at work.
//
// A page that looks for labels may have fewer videos than limit, or none, and
// still not be the last: it gives up after some thousand that do not fit.
func (s *Store) Videos(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Place, limit int) ([]video.Video, video.Place, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, video.Place{}, err
	}
	defer tx.Rollback() // there is nothing to commit
	return queries{tx}.list(ctx, tenant, f, after, limit)
}

// list is Videos in a snapshot, without which a video that was found could be
// gone when it is read. It has three statements, however many videos there are.
func (q queries) list(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Place, limit int) ([]video.Video, video.Place, error) {
	ids, next, err := q.page(ctx, tenant, f, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, next, err
	}
	videos, err := q.videos(ctx, ids)
	if err != nil {
		return nil, video.Place{}, err
	}
	resolutions, err := q.resolutions(ctx, ids)
	if err != nil {
		return nil, video.Place{}, err
	}
	for i, v := range videos {
		videos[i].Resolutions = resolutions[v.ID]
	}
	return videos, next, nil
}

// page finds the videos of a page. It asks for one more than it may look at, to
// know whether there is more.
func (q queries) page(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Place, limit int) ([]video.ID, video.Place, error) {
	most := limit
	if len(f.Labels) > 0 {
		most = mostLookedAt
	}
	text, args := pageStatement(tenant, f, after, most+1)
	rows, err := q.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, video.Place{}, wrap("list videos", err)
	}
	defer rows.Close()
	var ids []video.ID
	var last video.Place
	for looked := 0; rows.Next(); looked++ {
		if looked == most || len(ids) == limit {
			return ids, last, nil
		}
		var created sql.NullInt64
		var metadata sql.RawBytes
		if err := rows.Scan(&last.ID, &created, &metadata); err != nil {
			return nil, video.Place{}, wrap("list videos", err)
		}
		last.CreatedAt = fromMillis(created)
		if f.Fits([]byte(metadata)) {
			ids = append(ids, last.ID)
		}
	}
	return ids, video.Place{}, wrap("list videos", rows.Err())
}

// pageStatement asks for videos after a place, each with where it stands and,
// if somebody will look at it, its metadata.
func pageStatement(tenant video.Tenant, f video.Filter, after video.Place, limit int) (string, []any) {
	metadata, status := "NULL", ""
	if len(f.Labels) > 0 {
		metadata = "metadata"
	}
	created := int64(math.MaxInt64) // before everything
	if after != (video.Place{}) {
		created = after.CreatedAt.UnixMilli()
	}
	args := []any{tenant, created, after.ID}
	if f.Status != "" {
		args = append(args, f.Status)
		status = " AND status = $4"
	}
	args = append(args, limit)
	return `
		SELECT id, created_at, ` + metadata + ` FROM video
		 WHERE tenant = $1 AND deleted_at IS NULL AND (created_at, id) < ($2, $3)` + status + `
		 ORDER BY created_at DESC, id DESC LIMIT $` + strconv.Itoa(len(args)), args
}

// videos returns videos in the order of ids, without their resolutions. A plan
// can be large, and of a video that is not at work nobody needs it here.
func (q queries) videos(ctx context.Context, ids []video.ID) ([]video.Video, error) {
	in, args := anyOf(1, ids)
	rows, err := q.db.QueryContext(ctx, `
		SELECT `+videoColumns+`, CASE WHEN status = 'processing' THEN plan END
		  FROM video WHERE id IN `+in, args...)
	if err != nil {
		return nil, wrap("read videos", err)
	}
	defer rows.Close()
	all := make([]video.Video, len(ids))
	for rows.Next() {
		v, err := scanVideo(rows)
		if err != nil {
			return nil, err
		}
		all[slices.Index(ids, v.ID)] = v
	}
	return all, wrap("read videos", rows.Err())
}

// anyOf writes a list of ids as placeholders from $first on, with its arguments.
// Lists have one of few lengths, the last id standing in for those that are
// missing: a statement is planned anew for each length.
func anyOf(first int, ids []video.ID) (string, []any) {
	length := len(ids)
	for _, l := range []int{100, 10, 1} {
		if len(ids) <= l {
			length = l
		}
	}
	marks, args := make([]string, length), make([]any, length)
	for i := range length {
		marks[i], args[i] = "$"+strconv.Itoa(first+i), ids[min(i, len(ids)-1)]
	}
	return "(" + strings.Join(marks, ", ") + ")", args
}
