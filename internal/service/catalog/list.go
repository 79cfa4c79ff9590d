package catalog

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// reader reads lists on one moment of the database: otherwise a video that was found could be gone when it is read.
type reader struct{ store.Queries }

// videosByID returns some videos of any tenant, in no order, with the totals of the steps of the videos that are
// processing. It leaves out missing videos, and those that are being deleted.
func (q reader) videosByID(ctx context.Context, ids []video.ID) ([]video.Video, map[video.ID][]store.Step, error) {
	in, arg := store.IDList(1, ids)
	videos, err := q.SelectVideos(ctx, `WHERE deleted_at IS NULL AND id IN `+in, arg)
	if err != nil {
		return nil, nil, err
	}
	sums, err := q.StepTotals(ctx, beingProcessed(videos), pipeline.PerRendition())
	return videos, sums, err
}

// beingProcessed returns the ids of the videos that are processing.
func beingProcessed(videos []video.Video) []video.ID {
	var ids []video.ID
	for _, v := range videos {
		if v.Status == video.Processing {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// list returns a page of a tenant's videos in the order of a filter, and the cursor of the next page, which is zero
// after the last one. It leaves out videos that are being deleted, and the plans of videos that are not processing.
// It runs two to four statements, however many videos there are.
//
// A page of a search (Filter.IsSearch) may have fewer videos than limit, or none, and still not be the last; see
// searchLabels and searchRows.
func (q reader) list(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	switch {
	case len(f.Labels)+len(f.Tags) > 0 && f.Order.By == video.ByCreation:
		return q.searchLabels(ctx, tenant, f, after, limit)
	case f.IsSearch():
		return q.searchRows(ctx, tenant, f, after, limit)
	}
	return q.page(ctx, tenant, f, after, limit)
}

// page reads one page of the list. It asks for one video more, to find out
// whether there is a next page.
func (q reader) page(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	var where statement
	stretch(&where, tenant, f, after, limit+1) // it ignores what only a search looks for
	videos, err := q.SelectVideos(ctx, where.String(), where.args...)
	if err != nil || len(videos) <= limit {
		return videos, video.Cursor{}, err
	}
	videos = videos[:limit]
	return videos, placeOf(videos[limit-1], f.Order), nil
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
	to.add(` WHERE tenant = ? AND deleted_at IS NULL AND id NOT IN (SELECT id FROM video WHERE tenant = ? AND replaces IS NOT NULL)`, tenant, tenant)
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
