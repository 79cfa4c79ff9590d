package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Videos returns a page of a tenant's videos in the order of a filter, and the cursor
// of the next page, which is zero after the last one. It leaves out videos that are
// being deleted, and the plans of videos that are not processing.
//
// A page of a search (Filter.IsSearch) may have fewer videos than limit, or none,
// and still not be the last; see searchLabels and searchRows.
func (s *Store) Videos(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, video.Cursor{}, err
	}
	defer tx.Rollback() // there is nothing to commit
	return Queries{tx}.list(ctx, tenant, f, after, limit)
}

// VideosByID returns some videos of any tenant, in no order, with the StepTotals of
// the videos that are processing. It leaves out what Videos leaves out, and missing
// videos. It always runs three statements in one snapshot: otherwise a video that
// is finished meanwhile would look as if it had just begun.
func (s *Store) VideosByID(ctx context.Context, ids []video.ID, apart string) ([]video.Video, map[video.ID][]Step, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer tx.Rollback() // there is nothing to commit
	q := Queries{tx}
	videos, err := q.byID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	sums, err := q.StepTotals(ctx, BeingProcessed(videos), apart)
	return videos, sums, err
}

// BeingProcessed returns the ids of the videos that are processing.
func BeingProcessed(videos []video.Video) []video.ID {
	var ids []video.ID
	for _, v := range videos {
		if v.Status == video.Processing {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// byID is VideosByID without the totals.
func (q Queries) byID(ctx context.Context, ids []video.ID) ([]video.Video, error) {
	in, arg := IDList(1, ids)
	videos, err := q.videos(ctx, `SELECT `+listColumns+` FROM video WHERE deleted_at IS NULL AND id IN `+in, arg)
	if err != nil {
		return nil, err
	}
	return q.withResolutions(ctx, videos)
}

// list is Videos in a snapshot: otherwise a video that was found could be gone when
// it is read. It runs two to four statements, however many videos there are.
func (q Queries) list(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	find := q.page
	switch {
	case len(f.Labels) > 0 && f.Order.By == video.ByCreation:
		find = q.searchLabels
	case f.IsSearch():
		find = q.searchRows
	}
	videos, next, err := find(ctx, tenant, f, after, limit)
	if err != nil || len(videos) == 0 {
		return nil, next, err
	}
	videos, err = q.withResolutions(ctx, videos)
	return videos, next, err
}

// withResolutions adds the resolutions of all videos, with one statement.
func (q Queries) withResolutions(ctx context.Context, videos []video.Video) ([]video.Video, error) {
	ids := make([]video.ID, len(videos))
	for i, v := range videos {
		ids[i] = v.ID
	}
	resolutions, err := q.resolutions(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, v := range videos {
		videos[i].Resolutions = resolutions[v.ID]
	}
	return videos, nil
}

// page reads one page of the list. It asks for one video more, to find out
// whether there is a next page.
func (q Queries) page(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	text, args := pageQuery(tenant, f, after, limit+1)
	videos, err := q.videos(ctx, text, args...)
	if err != nil || len(videos) <= limit {
		return videos, video.Cursor{}, err
	}
	videos = videos[:limit]
	return videos, placeOf(videos[limit-1], f.Order), nil
}

// pageQuery selects the videos after a cursor. It ignores what only a search looks for.
func pageQuery(tenant video.Tenant, f video.Filter, after video.Cursor, limit int) (text string, args []any) {
	var s statement
	s.add(`SELECT ` + listColumns + ` FROM video`)
	stretch(&s, tenant, f, after, limit)
	return s.String(), s.args
}

// statement is put together from parts. Arguments are numbered in the order of the text.
type statement struct {
	strings.Builder
	args []any
}

// add appends text in which each ? stands for the next argument.
func (s *statement) add(text string, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		s.args = append(s.args, arg)
		s.WriteString(before + "$" + strconv.Itoa(len(s.args)))
		text = after
	}
	s.WriteString(text)
}

// stretch adds to a statement which part of the list it reads: limit videos after a cursor.
func stretch(to *statement, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) {
	to.add(` WHERE tenant = ? AND deleted_at IS NULL`, tenant)
	to.addPlace(f, after)
	if f.Status != "" && f.Order.By == video.ByCreation { // which has an index for it
		to.add(` AND status = ?`, f.Status)
	}
	to.add(orderBy(f.Order, orderColumns[f.Order.By], `id`)+` LIMIT ?`, limit)
}

// addTime adds that a video comes after a cursor, and was created in the time that a filter selects. The columns belong to
// an index, which is entered at the first position.
func (s *statement) addTime(created, id string, f video.Filter, after video.Cursor) {
	from, until := int64(math.MinInt64), int64(math.MaxInt64)
	if !f.CreatedFrom.IsZero() {
		from = f.CreatedFrom.UnixMilli()
	}
	if !f.CreatedBefore.IsZero() {
		until = f.CreatedBefore.UnixMilli()
	}
	at, none := after.CreatedAt.UnixMilli(), after == (video.Cursor{})
	if f.Order.Ascending {
		if none || at < from {
			at, after.ID = from, ""
		}
		s.add(` AND (`+created+`, `+id+`) > (?, ?)`, at, after.ID)
		if !f.CreatedBefore.IsZero() {
			s.add(` AND `+created+` < ?`, until)
		}
		return
	}
	if none || at >= until {
		at, after.ID = until, ""
	}
	s.add(` AND (`+created+`, `+id+`) < (?, ?)`, at, after.ID)
	if !f.CreatedFrom.IsZero() {
		s.add(` AND `+created+` >= ?`, from)
	}
}

// videos returns the videos that a query finds, without resolutions.
func (q Queries) videos(ctx context.Context, text string, args ...any) ([]video.Video, error) {
	return Collect(ctx, q, "list videos", func(rows *sql.Rows) (video.Video, error) { return scanVideo(rows) }, text, args...)
}

// IDList writes a list of ids as a subquery with one argument, $n: there may be
// thousands of ids, and a statement is planned anew for each number of arguments.
// The ids are the keys of a JSON object, because json_each of an array differs
// between the databases. A single id, the most frequent case, is passed directly,
// which takes half the time.
func IDList[ID ~string](n int, ids []ID) (in, arg string) {
	mark := "$" + strconv.Itoa(n)
	if len(ids) == 1 {
		return "(" + mark + ")", string(ids[0])
	}
	names := make(map[ID]int, len(ids))
	for _, id := range ids {
		names[id] = 0
	}
	text, _ := json.Marshal(names) // strings and numbers: it cannot fail
	return "(SELECT key FROM json_each(" + mark + "))", string(text)
}
