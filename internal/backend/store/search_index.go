package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// source is one condition of a search: those videos with a label, or those of a tenant
// with a status. They lie in an index, newest first.
type source struct {
	hash   int64 // of the label
	tenant video.Tenant
	status video.Status // "": it is a label
}

// sourcesOf returns the conditions of a filter, each once.
func sourcesOf(tenant video.Tenant, f video.Filter) []source {
	var all []source
	for _, l := range f.Labels {
		if s := (source{hash: labelHash(tenant, l)}); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if f.Status != "" {
		all = append(all, source{tenant: tenant, status: f.Status})
	}
	return all
}

// id is the column with the id of the video.
func (s source) id() string {
	if s.status != "" {
		return "d.id"
	}
	return "d.video_id"
}

// writeFrom adds to a statement from where its rows, called d, come. The limit is part of the
// text: PostgreSQL plans differently for a few rows than for an unknown number.
func (s source) writeFrom(to *statement, after video.Cursor, limit int) {
	if s.status != "" {
		to.add(` FROM video AS d WHERE d.tenant = ? AND d.deleted_at IS NULL AND d.status = ?`, s.tenant, s.status)
	} else {
		to.add(` FROM label AS d WHERE d.hash = ?`, s.hash)
	}
	to.add(` AND (d.created_at, `+s.id()+`) < (?, ?) ORDER BY d.created_at DESC, `+s.id()+` DESC LIMIT `+strconv.Itoa(limit),
		after.CreatedAt.UnixMilli(), after.ID)
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

// sampleSize is how many entries of each source are counted to find the sparsest.
const sampleSize = 100

// batches are how many entries of a source a page examines, in one statement each.
var batches = []int{100, 400, 1_500}

// searchIndex finds videos that are in all sources.
//
// It goes through the source with the fewest entries and looks each of them up in the
// others. So a rare label decides how long a search takes, whatever else is asked for.
// Which one is rare may change along the list, so this is decided again after each batch.
// It ends early if all sources are long and have little in common.
func (q queries) searchIndex(ctx context.Context, all []source, after video.Cursor, limit int) (found matches, err error) {
	if len(all) == 1 { // every entry matches
		found.end, err = q.examine(ctx, all[0], nil, after, limit+1, limit, &found.at)
		return found, err
	}
	for _, n := range batches {
		driver, from, err := q.sparsest(ctx, all, after)
		if err != nil || driver < 0 {
			return matches{at: found.at}, err
		}
		others := slices.Concat(all[:driver], all[driver+1:])
		after, err = q.examine(ctx, all[driver], others, from, n, limit, &found.at)
		if err != nil || after == (video.Cursor{}) || len(found.at) > limit {
			return matches{found.at, after}, err
		}
	}
	return matches{found.at, after}, nil
}

// sample is what the next entries of a source look like.
type sample struct {
	source       int
	entries      int
	newest, last int64 // when the first and the last of them were created
}

// sparsest returns which source has the fewest entries after a cursor, or, of those with
// many, whose next ones reach back furthest; and from where on to search: nothing
// matches that is newer than the first entry of any source. The source is -1 if one has
// no entries at all.
func (q queries) sparsest(ctx context.Context, all []source, after video.Cursor) (int, video.Cursor, error) {
	var s statement
	for i, source := range all {
		if i > 0 {
			s.add(` UNION ALL `)
		}
		s.add(`SELECT ` + strconv.Itoa(i) + `, count(*), COALESCE(max(sample.created_at), 0), COALESCE(min(sample.created_at), 0) FROM (SELECT d.created_at`)
		source.writeFrom(&s, after, sampleSize)
		s.add(`) AS sample`)
	}
	samples, err := collect(ctx, q, "search labels", func(row *sql.Rows) (s sample, err error) {
		err = row.Scan(&s.source, &s.entries, &s.newest, &s.last)
		return s, err
	}, s.String(), s.args...)
	if err != nil {
		return 0, after, err
	}
	best := slices.MinFunc(samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.entries, b.entries), cmp.Compare(a.last, b.last))
	})
	if best.entries == 0 {
		return -1, after, nil
	}
	for _, s := range samples {
		if next := (video.Cursor{CreatedAt: time.UnixMilli(s.newest + 1).UTC()}); newestFirst(next, after) > 0 {
			after = next
		}
	}
	return best.source, after, nil
}

// examine looks up the next n entries of a source in the others, and adds those that
// are in all of them to found, until these are more than limit. It returns where it
// stopped; zero: there are no more entries.
func (q queries) examine(ctx context.Context, driver source, others []source, after video.Cursor, n, limit int, found *[]video.Cursor) (video.Cursor, error) {
	s := lookUp(driver, others)
	driver.writeFrom(s, after, n)
	rows, err := q.db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return after, wrap("search labels", err)
	}
	defer rows.Close()
	examined := 0
	for ; rows.Next(); examined++ {
		var created int64
		var in int
		if err := rows.Scan(&created, &after.ID, &in); err != nil {
			return after, wrap("search labels", err)
		}
		after.CreatedAt = time.UnixMilli(created).UTC()
		if in == len(others) {
			*found = append(*found, after)
		}
		if len(*found) > limit {
			return after, nil
		}
	}
	if examined < n {
		after = video.Cursor{}
	}
	return after, wrap("search labels", rows.Err())
}

// lookUp begins a statement that counts, for each entry of a source, in how many of the
// others it is. Counting keeps PostgreSQL from turning this into a join, which might read
// all of a long source.
func lookUp(driver source, others []source) *statement {
	s, id := new(statement), driver.id()
	s.add(`SELECT d.created_at, ` + id + `, 0`)
	var hashes []any
	for _, o := range others {
		if o.status != "" {
			s.add(` + (SELECT count(*) FROM video AS v WHERE v.id = `+id+` AND v.status = ?)`, o.status)
		} else {
			hashes = append(hashes, o.hash)
		}
	}
	if len(hashes) > 0 {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(hashes)), ", ")
		s.add(` + (SELECT count(*) FROM label AS p WHERE p.hash IN (`+marks+`) AND p.created_at = d.created_at AND p.video_id = `+id+`)`, hashes...)
	}
	return s
}
