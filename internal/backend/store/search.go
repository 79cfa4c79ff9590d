package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// searchConnections is how many searches run at once. They have connections of their
	// own, so that nothing else waits for them.
	searchConnections = 4
	// searchWait is how long a search waits for a connection.
	searchWait = 2 * time.Second
	// searchTimeout ends a search that takes too long.
	searchTimeout = 5 * time.Second

	// A page of a search examines this much of the metadata that is not indexed, and then
	// ends with what it has found.
	maxScanned      = 2_000           // videos
	maxScannedBytes = 4 << 20         // of metadata
	maxScanTime     = time.Second / 2 // whatever else the machine does
	scanBatch       = 100             // videos in one statement
)

// Searcher returns the pool of searches. While all of its connections are in use, further
// searches wait, and nothing else does.
func (s *Store) Searcher() *sql.DB { return s.searches }

// searchVideos is Videos with a filter of labels or words.
//
// Labels are found by an index, see searchIndex. The metadata of videos that are not in
// the index, because they are older than it or have too many labels, is read; see
// searchUnindexed. A page may have fewer videos than limit, or none, and still not be
// the last: it stops after examining a certain number of videos.
func (s *Store) searchVideos(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	limited, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	conn, tx, err := beginOn(limited, s.searchConn, limited, snapshotOptions)
	if err != nil {
		return nil, video.Cursor{}, err
	}
	defer conn.Close()
	defer tx.Rollback() // there is nothing to commit
	videos, next, err := queries{tx}.list(limited, tenant, f, after, limit)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, video.Cursor{}, overloaded("The search took too long.", err)
	}
	return videos, next, err
}

// searchConn waits for one of the connections of searches.
func (s *Store) searchConn(ctx context.Context) (*sql.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, searchWait)
	defer cancel()
	conn, err := s.searches.Conn(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		if stats := s.searches.Stats(); stats.InUse >= stats.MaxOpenConnections {
			return nil, overloaded("The server runs as many searches as it can.", err)
		}
	}
	return conn, err
}

func overloaded(reason string, err error) error {
	return &video.Error{Kind: video.Unavailable, Code: "overloaded", Msg: reason + " Try again later.", RetryAfter: searchWait, Err: err}
}

// search reads one page of the videos whose metadata matches.
func (q queries) search(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) ([]video.Video, video.Cursor, error) {
	if contradictory(f.Labels) {
		return nil, video.Cursor{}, nil
	}
	if after == (video.Cursor{}) {
		after = newest
	}
	indexed, err := q.searchIndex(ctx, sourcesOf(tenant, f), after, limit)
	if err != nil {
		return nil, video.Cursor{}, err
	}
	others, err := q.searchUnindexed(ctx, tenant, f, after, indexed.end, limit)
	if err != nil {
		return nil, video.Cursor{}, err
	}
	ids, next := merge(limit, indexed, others)
	if len(ids) == 0 {
		return nil, next, nil
	}
	in, arg := idSubquery(1, ids)
	videos, err := q.videos(ctx, `
		SELECT `+listColumns+` FROM video
		 WHERE deleted_at IS NULL AND id IN `+in+`
		 ORDER BY created_at DESC, id DESC`, arg)
	// Different labels may have the same hash.
	return slices.DeleteFunc(videos, func(v video.Video) bool {
		return v.Tenant != tenant || !f.Fits(v.Metadata) || !f.Mentions(v.Filename, v.Title)
	}), next, err
}

// contradictory reports whether nothing can match: a key has one value.
func contradictory(all []video.Label) bool {
	values := map[string]string{}
	for _, l := range all {
		if value, ok := values[l.Key]; ok && value != l.Value {
			return true
		}
		values[l.Key] = l.Value
	}
	return false
}

// newest is the cursor before all videos.
var newest = video.Cursor{CreatedAt: time.UnixMilli(math.MaxInt64)}

// matches is a part of the answer to a search: the videos that match, newest first, down
// to end. The zero end means that there are no more.
type matches struct {
	at  []video.Cursor
	end video.Cursor
}

// merge puts the parts of a search together, and returns one page of it with the cursor
// of the next. What lies beyond the end of one part was not searched by all of them.
func merge(limit int, parts ...matches) ([]video.ID, video.Cursor) {
	var all []video.Cursor
	var end video.Cursor
	for _, p := range parts {
		all = append(all, p.at...)
		if p.end != (video.Cursor{}) && (end == (video.Cursor{}) || newestFirst(p.end, end) < 0) {
			end = p.end
		}
	}
	slices.SortFunc(all, newestFirst)
	if end != (video.Cursor{}) {
		all = slices.DeleteFunc(all, func(c video.Cursor) bool { return newestFirst(c, end) > 0 })
	}
	if len(all) > limit {
		all, end = all[:limit], all[limit-1]
	}
	ids := make([]video.ID, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	return ids, end
}

func newestFirst(a, b video.Cursor) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// scanning has an element while a search reads metadata. One at a time does in the
// whole process: they take turns after each batch, and leave the cores to others.
var scanning = make(chan struct{}, 1)

// searchUnindexed reads the metadata of videos that are not in the index. It stops at
// until, if that is not zero: more does not fit on the page.
func (q queries) searchUnindexed(ctx context.Context, tenant video.Tenant, f video.Filter, after, until video.Cursor, limit int) (matches, error) {
	s := scan{filter: f, until: until, limit: limit, began: time.Now()}
	for {
		n, err := q.scan(ctx, tenant, after, &s)
		if err != nil {
			return matches{}, err
		}
		if s.isOver() {
			return matches{s.at, s.last}, nil
		}
		if n < scanBatch {
			return matches{at: s.at}, nil
		}
		after = s.last
	}
}

// scan is the state of searchUnindexed.
type scan struct {
	filter video.Filter
	until  video.Cursor
	limit  int
	began  time.Time

	at     []video.Cursor // that match
	last   video.Cursor   // that was examined
	videos int            // that were examined
	bytes  int
}

// isOver reports whether the page can or may have no more.
func (s *scan) isOver() bool {
	return len(s.at) > s.limit || s.videos >= maxScanned || s.bytes >= maxScannedBytes || time.Since(s.began) >= maxScanTime ||
		s.until != (video.Cursor{}) && newestFirst(s.last, s.until) >= 0
}

// examine looks at the next video.
func (s *scan) examine(at video.Cursor, status video.Status, metadata []byte) {
	s.last = at
	s.videos++
	s.bytes += len(metadata)
	if (s.filter.Status == "" || s.filter.Status == status) && s.filter.Fits(metadata) {
		s.at = append(s.at, at)
	}
}

// scan examines up to scanBatch videos after a cursor, and returns how many.
//
// The status is compared here rather than in the statement: that would skip any number
// of videos unnoticed.
func (q queries) scan(ctx context.Context, tenant video.Tenant, after video.Cursor, s *scan) (n int, err error) {
	rows, err := q.db.QueryContext(ctx, `
		SELECT created_at, id, status, metadata FROM video
		 WHERE tenant = $1 AND labelled IS NOT TRUE AND metadata IS NOT NULL AND deleted_at IS NULL
		   AND (created_at, id) < ($2, $3)
		 ORDER BY created_at DESC, id DESC LIMIT $4`, tenant, after.CreatedAt.UnixMilli(), after.ID, scanBatch)
	if err != nil {
		return 0, wrap("search metadata", err)
	}
	defer rows.Close()
	if !rows.Next() { // as usual: there is nothing to wait for
		return 0, wrap("search metadata", errors.Join(rows.Err(), ctx.Err()))
	}
	select {
	case scanning <- struct{}{}:
		defer func() { <-scanning }()
	case <-ctx.Done():
		return 0, wrap("search metadata", ctx.Err())
	}
	for more := true; more && (n == 0 || !s.isOver()); more, n = rows.Next(), n+1 {
		var at video.Cursor
		var created int64
		var status video.Status
		var metadata sql.RawBytes
		if err := rows.Scan(&created, &at.ID, &status, &metadata); err != nil {
			return 0, wrap("search metadata", err)
		}
		at.CreatedAt = time.UnixMilli(created).UTC()
		s.examine(at, status, metadata)
	}
	return n, wrap("search metadata", errors.Join(rows.Err(), ctx.Err()))
}
