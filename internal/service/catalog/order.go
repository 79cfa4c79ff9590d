package catalog

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// orderColumns are what lists are ordered by. Together with tenant and id, each is an index.
var orderColumns = map[video.Sort]string{
	video.ByCreation: "created_at", video.ByTitle: "title_key", video.ByDuration: "duration_us", video.BySize: "size_bytes",
}

// placeOf returns the place of a video in a list.
func placeOf(v video.Video, o video.Order) video.Cursor {
	at := video.Cursor{Order: o, ID: v.ID}
	switch o.By {
	case video.ByCreation:
		at.CreatedAt = v.CreatedAt
	case video.ByTitle:
		at.Key = store.TitleKey(v.Title)
	case video.ByDuration:
		at.Key = strconv.FormatInt(v.Duration.Microseconds(), 10)
	case video.BySize:
		at.Key = strconv.FormatInt(v.SizeBytes, 10)
	}
	return at
}

// addPlace adds that a video comes after a cursor in the order of a filter.
func (s *statement) addPlace(f video.Filter, after video.Cursor) {
	if f.Order.By == video.ByCreation {
		s.addTime(`created_at`, `id`, f, after)
		return
	}
	if after == (video.Cursor{}) {
		return
	}
	var key any = after.Key
	if f.Order.By != video.ByTitle {
		key, _ = strconv.ParseInt(after.Key, 10, 64) // ParseCursor has checked it
	}
	than := `<`
	if f.Order.Ascending {
		than = `>`
	}
	s.add(` AND (`+orderColumns[f.Order.By]+`, id) `+than+` (?, ?)`, key, after.ID)
}

// orderBy is an order as SQL. column and id belong to an index.
func orderBy(o video.Order, column, id string) string {
	if o.Ascending {
		return ` ORDER BY ` + column + `, ` + id
	}
	return ` ORDER BY ` + column + ` DESC, ` + id + ` DESC`
}

// selected examines the next videos after a cursor in another order than creation, and returns the videos that a
// filter selects, with the cursor at which it stopped; zero: there are no more.
func (q reader) selected(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.ID, video.Cursor, error) {
	labels := criteria(tenant, video.Filter{Labels: f.Labels, Tags: f.Tags})
	s := countMet(`d.id, d.filename, d.title, d.is_public, d.status, d.created_at, d.duration_us, d.size_bytes`, `d.id`, labels)
	s.add(` FROM video AS d`)
	stretch(s, tenant, f, after, maxCandidates)
	page := searchPage{limit: limit, most: maxCandidates}
	err := store.Each(ctx, q.Queries, "search videos", func(row *sql.Rows) (bool, error) {
		var v video.Video
		var created sql.NullInt64
		var micros int64
		var met int
		err := row.Scan(&v.ID, &v.Filename, &v.Title, &v.IsPublic, &v.Status, &created, &micros, &v.SizeBytes, &met)
		v.CreatedAt, v.Duration = store.FromMillis(created), time.Duration(micros)*time.Microsecond
		page.examine(placeOf(v, f.Order), met == len(labels) && f.Selects(v))
		return !page.isFull(), err
	}, s.String(), s.args...)
	ids, next := page.end()
	return ids, next, err
}
