package store

import (
	"context"
	"encoding/hex"
	"strconv"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/spool-video/spool/internal/video"
)

// orderColumns are what lists are ordered by. Together with tenant and id, each is an index.
var orderColumns = map[video.Sort]string{
	video.ByCreation: "created_at", video.ByTitle: "title_key", video.ByDuration: "duration_us", video.BySize: "size_bytes",
}

// maxTitleKey is how many bytes of a title a list is ordered by. PostgreSQL limits an entry of an index.
const maxTitleKey = 256

// keyOfTitle returns what a title is ordered by. It has no case and no accents, so that "Äpfel" is beside "apples". It
// is in hexadecimal digits, which all collations of PostgreSQL order as SQLite does.
func keyOfTitle(title string) string {
	folded := cases.Fold().String(title)
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), folded)
	if err != nil {
		plain = folded
	}
	return hex.EncodeToString([]byte(plain[:min(len(plain), maxTitleKey)]))
}

// placeOf returns the place of a video in a list.
func placeOf(v video.Video, o video.Order) video.Cursor {
	at := video.Cursor{Order: o, ID: v.ID}
	switch o.By {
	case video.ByCreation:
		at.CreatedAt = v.CreatedAt
	case video.ByTitle:
		at.Key = keyOfTitle(v.Title)
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
func (q Queries) selected(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.ID, video.Cursor, error) {
	labels := criteria(tenant, video.Filter{Labels: f.Labels})
	s := countMet(`d.id, d.filename, d.title, d.is_public, d.status, d.created_at, d.duration_us, d.size_bytes`, `d.id`, labels)
	s.add(` FROM video AS d`)
	stretch(s, tenant, f, after, maxCandidates)
	rows, err := q.db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return nil, after, Wrap("search videos", err)
	}
	defer rows.Close()
	page := searchPage{limit: limit, most: maxCandidates}
	for !page.isFull() && rows.Next() {
		var v video.Video
		var met int
		if err := rows.Scan(&v.ID, &v.Filename, &v.Title, &v.IsPublic, &v.Status, timestamp{&v.CreatedAt},
			microseconds{&v.Duration}, &v.SizeBytes, &met); err != nil {
			return nil, after, Wrap("search videos", err)
		}
		page.examine(placeOf(v, f.Order), met == len(labels) && f.Selects(v))
	}
	ids, next := page.end()
	return ids, next, Wrap("search videos", rows.Err())
}
