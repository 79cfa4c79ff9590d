package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const (
	// maxCandidates is how many videos a page of a search examines that reads more than one index for each.
	maxCandidates = 1_000
	// maxNames is how many names a page of a search by words examines.
	maxNames = 5_000
)

// searchPage collects the videos of a page of a search. Examining most videos ends it.
type searchPage struct {
	limit, most int
	found       []video.Cursor // one more than limit: there is another page
	examined    int
	last        video.Cursor // that was examined
}

func (p *searchPage) isFull() bool { return len(p.found) > p.limit }

func (p *searchPage) examine(at video.Cursor, matches bool) {
	p.examined, p.last = p.examined+1, at
	if matches {
		p.found = append(p.found, at)
	}
}

// end returns the videos of the page and the cursor of the next one, which is zero after the last page.
func (p *searchPage) end() (ids []video.ID, next video.Cursor) {
	if p.isFull() {
		p.found = p.found[:p.limit]
		next = p.found[p.limit-1]
	} else if p.examined == p.most {
		next = p.last
	}
	for _, at := range p.found {
		ids = append(ids, at.ID)
	}
	return ids, next
}

// criterion is what a search asks for: a label, a tag, or a status. An index lists the videos that meet it, by time.
type criterion struct {
	hash   int64 // of the label or tag
	tenant video.Tenant
	status video.Status // "": it is a label or tag
}

// criteria returns what a filter asks for, each once.
func criteria(tenant video.Tenant, f video.Filter) []criterion {
	var all []criterion
	for _, l := range f.Labels {
		if c := (criterion{hash: labelHash(tenant, l)}); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, tag := range f.Tags {
		if c := (criterion{hash: tagHash(tenant, tag)}); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	if f.Status != "" {
		all = append(all, criterion{tenant: tenant, status: f.Status})
	}
	return all
}

// id is the column with the id of the video in the table of writeFrom.
func (c criterion) id() string {
	if c.status != "" {
		return "d.id"
	}
	return "d.video_id"
}

// writeFrom adds the videos that meet the criterion to a statement, as the table d. The limit is part of the text:
// PostgreSQL plans differently for a few rows than for an unknown number.
func (c criterion) writeFrom(to *statement, f video.Filter, after video.Cursor, limit int) {
	if c.status != "" {
		to.add(` FROM video AS d WHERE d.tenant = ? AND d.deleted_at IS NULL AND d.status = ?`, c.tenant, c.status)
	} else {
		to.add(` FROM metadata_index AS d WHERE d.hash = ?`, c.hash)
	}
	to.addTime(`d.created_at`, c.id(), f, after)
	to.add(orderBy(f.Order, `d.created_at`, c.id()) + ` LIMIT ` + strconv.Itoa(limit))
}

// searchLabels reads one page of the videos that have all labels and tags of a filter. It goes through the videos
// that meet the rarest criterion. A page that has examined maxCandidates of them ends with what it has found.
func (q reader) searchLabels(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	all := criteria(tenant, f)
	first, err := q.rarest(ctx, all, f, after)
	if err != nil {
		return nil, video.Cursor{}, err
	}
	others := slices.Concat(all[:first], all[first+1:])
	ids, next, err := q.candidates(ctx, all[first], others, f, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, next, err
	}
	in, arg := store.IDList(1, ids)
	videos, err := q.SelectVideos(ctx, `WHERE deleted_at IS NULL AND id IN `+in+orderBy(f.Order, `created_at`, `id`), arg)
	// Different labels may have the same hash.
	return slices.DeleteFunc(videos, func(v video.Video) bool {
		return v.Tenant != tenant || !f.Fits(v.Metadata) || !f.Tagged(v) || !f.Selects(v)
	}), next, err
}

// rarest returns which criterion the fewest videos after a cursor meet. It counts to maxCandidates.
func (q reader) rarest(ctx context.Context, all []criterion, f video.Filter, after video.Cursor) (int, error) {
	if len(all) == 1 {
		return 0, nil
	}
	var s statement
	for i, c := range all {
		if i > 0 {
			s.add(` UNION ALL `)
		}
		s.add(`SELECT ` + strconv.Itoa(i) + `, count(*) FROM (SELECT 1`)
		c.writeFrom(&s, f, after, maxCandidates)
		s.add(`) AS entry`)
	}
	type count struct{ criterion, videos int }
	counts, err := store.Collect(ctx, q.Queries, "search metadata", func(row *sql.Rows) (c count, err error) {
		err = row.Scan(&c.criterion, &c.videos)
		return c, err
	}, s.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return slices.MinFunc(counts, func(a, b count) int {
		return cmp.Or(cmp.Compare(a.videos, b.videos), cmp.Compare(a.criterion, b.criterion))
	}).criterion, nil
}

// candidates goes through the videos that meet the first criterion and returns those that meet the others, too, with
// the cursor at which it stopped; zero: there are no more.
func (q reader) candidates(ctx context.Context, first criterion, others []criterion, f video.Filter, after video.Cursor, limit int) ([]video.ID, video.Cursor, error) {
	s := countMet(`d.created_at, `+first.id(), first.id(), others)
	first.writeFrom(s, f, after, maxCandidates)
	page := searchPage{limit: limit, most: maxCandidates}
	err := store.Each(ctx, q.Queries, "search metadata", func(row *sql.Rows) (bool, error) {
		at := video.Cursor{Order: f.Order}
		var created, met int64
		err := row.Scan(&created, &at.ID, &met)
		at.CreatedAt = time.UnixMilli(created).UTC()
		page.examine(at, met == int64(len(others)))
		return !page.isFull(), err
	}, s.String(), s.args...)
	ids, next := page.end()
	return ids, next, err
}

// countMet begins a statement that selects columns of a table d, whose videos have their ids in one of them, and counts
// how many criteria each video meets. Counting keeps PostgreSQL from turning this into a join, which might read all
// videos that meet one of them.
func countMet(columns, id string, all []criterion) *statement {
	s := new(statement)
	s.add(`SELECT ` + columns + `, 0`)
	for _, c := range all {
		if c.status != "" {
			s.add(` + (SELECT count(*) FROM video AS v WHERE v.id = `+id+` AND v.status = ?)`, c.status)
		} else {
			s.add(` + (SELECT count(*) FROM metadata_index AS l WHERE l.hash = ? AND l.created_at = d.created_at AND l.video_id = `+id+`)`, c.hash)
		}
	}
	return s
}

// searchRows reads one page of the videos that a filter selects, by examining one after the other: a page that has
// examined maxNames of an index, or maxCandidates of the table, ends with what it has found.
func (q reader) searchRows(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	examine := q.named
	if f.Order.By != video.ByCreation {
		examine = q.selected
	}
	ids, next, err := examine(ctx, tenant, f, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, next, err
	}
	in, arg := store.IDList(1, ids)
	videos, err := q.SelectVideos(ctx, `WHERE id IN `+in, arg)
	place := make(map[video.ID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(videos, func(a, b video.Video) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	// Different labels may have the same hash.
	return slices.DeleteFunc(videos, func(v video.Video) bool { return !f.Fits(v.Metadata) || !f.Tagged(v) }), next, err
}

// named examines the names of the next videos after a cursor and returns the videos whose names have all words of a
// filter in them, and that are as public as it wants, with the cursor at which it stopped; zero: there are no more. It
// reads an index that has nothing else in it.
func (q reader) named(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.ID, video.Cursor, error) {
	var s statement
	s.add(`SELECT created_at, id, filename, title, is_public FROM video`)
	stretch(&s, tenant, f, after, maxNames)
	page := searchPage{limit: limit, most: maxNames}
	err := store.Each(ctx, q.Queries, "search names", func(row *sql.Rows) (bool, error) {
		at := video.Cursor{Order: f.Order}
		var created int64
		var filename, title string
		var public bool
		err := row.Scan(&created, &at.ID, &filename, &title, &public)
		at.CreatedAt = time.UnixMilli(created).UTC()
		page.examine(at, f.Mentions(filename, title) && (f.Public == nil || *f.Public == public))
		return !page.isFull(), err
	}, s.String(), s.args...)
	ids, next := page.end()
	return ids, next, err
}
