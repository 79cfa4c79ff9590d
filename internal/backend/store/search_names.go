package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// A page of a search by words examines this many names, and then ends with what it has
// found. They are read from an index that has nothing else in it.
const (
	maxNames  = 10_000
	nameBatch = 1_000 // in one statement
)

// searchNames reads one page of the videos whose names have all words in them.
func (q queries) searchNames(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	var ids []video.ID
	began, more := time.Now(), true
	for n := 0; more && len(ids) < limit && n < maxNames && time.Since(began) < maxScanTime; n += nameBatch {
		var err error
		if after, more, err = q.scanNames(ctx, tenant, f, after, limit, &ids); err != nil {
			return nil, video.Cursor{}, err
		}
	}
	if !more {
		after = video.Cursor{}
	}
	if len(ids) == 0 {
		return nil, after, nil
	}
	in, arg := idSubquery(1, ids)
	videos, err := q.videos(ctx, `SELECT `+listColumns+` FROM video WHERE id IN `+in, arg)
	slices.SortFunc(videos, func(a, b video.Video) int {
		order := newestFirst(video.Cursor{CreatedAt: a.CreatedAt, ID: a.ID}, video.Cursor{CreatedAt: b.CreatedAt, ID: b.ID})
		if f.OldestFirst {
			return -order
		}
		return order
	})
	return videos, after, err
}

// scanNames examines the next names after a cursor, and adds what it finds to found until
// that are limit. It returns where it stopped, and whether there may be more.
func (q queries) scanNames(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int, found *[]video.ID) (video.Cursor, bool, error) {
	var s statement
	s.add(`SELECT created_at, id, filename, title FROM video`)
	stretch(&s, tenant, f, after, nameBatch)
	rows, err := q.db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return after, false, wrap("search names", err)
	}
	defer rows.Close()
	n := 0
	for ; len(*found) < limit && rows.Next(); n++ {
		var created int64
		var filename string
		var title sql.NullString
		if err := rows.Scan(&created, &after.ID, &filename, &title); err != nil {
			return after, false, wrap("search names", err)
		}
		after.CreatedAt = time.UnixMilli(created).UTC()
		if f.Mentions(filename, title.String) {
			*found = append(*found, after.ID)
		}
	}
	return after, n == nameBatch || len(*found) == limit, wrap("search names", errors.Join(rows.Err(), ctx.Err()))
}
