package audience

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// span is what a row has the sums of.
type span string

const (
	hours span = "hour"
	days  span = "day"
)

// readKnown reads what counting needs to know of a video that people may watch.
func readKnown(ctx context.Context, q store.Queries, id video.ID) (k known, err error) {
	var micros int64
	err = q.QueryRow(ctx, `SELECT is_public, duration_us FROM video WHERE id = $1 AND deleted_at IS NULL AND replaces IS NULL`, id).Scan(&k.public, &micros)
	if errors.Is(err, sql.ErrNoRows) {
		return k, video.VideoNotFound()
	}
	k.duration = time.Duration(micros) * time.Microsecond
	return k, store.Wrap("look up a video", err)
}

// tenantsOf returns the tenants of those videos that exist.
func tenantsOf(ctx context.Context, q store.Queries, ids []video.ID) (map[video.ID]video.Tenant, error) {
	in, arg := store.IDList(1, ids)
	out := map[video.ID]video.Tenant{}
	err := store.Each(ctx, q, "find tenants", func(row *sql.Rows) (bool, error) {
		var id video.ID
		var tenant video.Tenant
		err := row.Scan(&id, &tenant)
		out[id] = tenant
		return true, err
	}, `SELECT id, tenant FROM video WHERE id IN `+in+` AND deleted_at IS NULL AND replaces IS NULL`, arg)
	return out, err
}

// table is one of the two tables with sums.
type table struct {
	name string
	key  []string // beside span and at
	more []string // columns that follow from the key
}

var (
	ofVideos  = table{name: "audience_video", key: []string{"video_id"}, more: []string{"tenant"}}
	ofTenants = table{name: "audience_tenant", key: []string{"tenant"}}
)

// counters are the columns that are added up.
var counters = []string{"views", "quiet", "followed", "completed", "viewers", "watched_ms", "stalls", "stalled_ms", "failures", "bytes"}

func (s *sums) counters() []*int64 {
	return []*int64{&s.Views, &s.Quiet, &s.Followed, &s.Completed, &s.Viewers, &s.Watched, &s.Stalls, &s.Stalled, &s.Failures, &s.Bytes}
}

// row is a row of either table.
type row struct {
	video  video.ID // "" in the table of tenants
	tenant video.Tenant
	span   span
	at     int64
	sums
}

func (r *row) subject(t table) []any {
	if t.name == ofVideos.name {
		return []any{r.video, r.tenant}
	}
	return []any{r.tenant}
}

func (r *row) key(t table) rowKey {
	subject := string(r.tenant)
	if t.name == ofVideos.name {
		subject = string(r.video)
	}
	return rowKey{subject, r.span, r.at}
}

// rowKey names a row in one table.
type rowKey struct {
	subject string // a video or a tenant
	span    span
	at      int64
}

// rowsAtOnce is how many rows a statement writes.
const rowsAtOnce = 50

// addRows adds the counters of rows to those that are stored, and returns the lists that each row has. From then on, no
// other process changes these rows until the end of the transaction. Lists that are given take the place of the stored ones.
func addRows(ctx context.Context, tx *store.Tx, t table, rows []*row, lists []string) (map[rowKey]string, error) {
	columns := slices.Concat(t.key, t.more, []string{"span", "at", "lists"}, counters)
	var values strings.Builder
	var args []any
	for i, r := range rows {
		text := ""
		if lists != nil {
			text = lists[i]
		}
		args = append(append(args, r.subject(t)...), r.span, r.at, text)
		for _, c := range r.counters() {
			args = append(args, *c)
		}
		before := ", ($"
		if i == 0 {
			before = "($"
		}
		for n := range columns {
			values.WriteString(before + strconv.Itoa(i*len(columns)+n+1))
			before = ", $"
		}
		values.WriteString(")")
	}
	sets := []string{"lists = CASE WHEN excluded.lists = '' THEN " + t.name + ".lists ELSE excluded.lists END"}
	for _, c := range counters {
		sets = append(sets, c+" = "+t.name+"."+c+" + excluded."+c)
	}
	stored := map[rowKey]string{}
	err := store.Each(ctx, tx.Queries, "add to "+t.name, func(found *sql.Rows) (bool, error) {
		var key rowKey
		var text string
		err := found.Scan(&key.subject, &key.span, &key.at, &text)
		stored[key] = text
		return true, err
	}, `INSERT INTO `+t.name+` (`+strings.Join(columns, ", ")+`) VALUES `+values.String()+`
		    ON CONFLICT (`+t.key[0]+`, span, at) DO UPDATE SET `+strings.Join(sets, ", ")+`
		 RETURNING `+t.key[0]+`, span, at, lists`, args...)
	return stored, err
}

// addPerson records that somebody watches a video on a day. It reports false if that is known already, or if the address has
// maxViewers viewers.
func addPerson(ctx context.Context, tx *store.Tx, id video.ID, day, address, hash int64) (bool, error) {
	n, err := tx.Exec(ctx, "add a viewer", `
		INSERT INTO audience_viewer (video_id, day, address, hash)
		SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT)
		 WHERE (SELECT count(*) FROM audience_viewer AS o WHERE o.video_id = CAST($1 AS TEXT) AND o.day = CAST($2 AS BIGINT) AND o.address = CAST($3 AS BIGINT)) < $5
		    ON CONFLICT DO NOTHING`, id, day, address, hash, maxViewers)
	return n > 0, err
}

// addVisit records that a session of a day was counted. It reports false if that is known already.
func addVisit(ctx context.Context, tx *store.Tx, v visit) (bool, error) {
	n, err := tx.Exec(ctx, "add a visit", `
		INSERT INTO audience_viewer (video_id, day, address, hash) VALUES ($1, $2, 0, $3) ON CONFLICT DO NOTHING`, v.video, v.day, int64(v.hash>>1))
	return n > 0, err
}

// saltOf returns the salt of a day, which is fresh if the day has none.
func saltOf(ctx context.Context, tx *store.Tx, day int64, fresh string) (salt string, err error) {
	if _, err := tx.Exec(ctx, "make the salt of a day", `INSERT INTO audience_salt (day, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING`, day, fresh); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, `SELECT salt FROM audience_salt WHERE day = $1`, day).Scan(&salt)
	return salt, store.Wrap("read the salt of a day", err)
}

// batchSize is how many rows are removed at once, so that others can write between two steps.
const batchSize = 500

// removeOld removes sums from before a time. It reports whether there may be more.
func removeOld(ctx context.Context, tx *store.Tx, t table, before time.Time) (more bool, err error) {
	key := t.key[0] + ", span, at"
	n, err := tx.Exec(ctx, "remove old rows of "+t.name, `
		DELETE FROM `+t.name+` WHERE (`+key+`) IN (SELECT `+key+` FROM `+t.name+` WHERE at < $1 ORDER BY at LIMIT $2)`, before.UnixMilli(), batchSize)
	return n == batchSize, err
}

// removePeople removes who watched before a day, and reports whether there may be more. The salts go first: without them the
// rest says nothing.
func removePeople(ctx context.Context, tx *store.Tx, day int64) (more bool, err error) {
	if _, err := tx.Exec(ctx, "remove salts", `DELETE FROM audience_salt WHERE day < $1`, day); err != nil {
		return false, err
	}
	const key = "video_id, day, address, hash"
	n, err := tx.Exec(ctx, "remove viewers", `
		DELETE FROM audience_viewer WHERE (`+key+`) IN (SELECT `+key+` FROM audience_viewer WHERE day < $1 LIMIT $2)`, day, batchSize)
	return n == batchSize, err
}

const sumColumns = `span, at, lists, views, quiet, followed, completed, viewers, watched_ms, stalls, stalled_ms, failures, bytes`

// readRows returns the sums of a video or a tenant in a range, by time.
func readRows(ctx context.Context, q store.Queries, t table, subject string, r Range) ([]row, error) {
	return store.Collect(ctx, q, "read "+t.name, func(found *sql.Rows) (one row, err error) {
		var text string
		to := []any{&one.span, &one.at, &text}
		for _, c := range one.counters() {
			to = append(to, c)
		}
		if err := found.Scan(to...); err != nil {
			return one, err
		}
		one.lists, err = decodeLists(text)
		return one, err
	}, `SELECT `+sumColumns+` FROM `+t.name+` WHERE `+t.key[0]+` = $1 AND span = $2 AND at >= $3 AND at < $4 ORDER BY at`,
		subject, r.span(), r.From.UnixMilli(), r.To.UnixMilli())
}

// topOfDay is how many videos of each day are considered for the list of those that were watched most.
const topOfDay = 100

// readTop returns the videos of a tenant that were watched most, of those that were among the first of a day.
func readTop(ctx context.Context, q store.Queries, tenant video.Tenant, r Range, limit int) ([]Top, error) {
	return store.Collect(ctx, q, "read the videos that were watched most", func(found *sql.Rows) (one Top, err error) {
		var watched int64
		err = found.Scan(&one.Video, &one.Title, &one.Views, &watched)
		one.Watched = time.Duration(watched) * time.Millisecond
		return one, err
	}, `
		SELECT t.video_id, video.title, t.views, t.watched
		  FROM (SELECT v.video_id, CAST(SUM(v.views) AS BIGINT) AS views, CAST(SUM(v.watched_ms) AS BIGINT) AS watched
		          FROM audience_tenant AS d
		          JOIN audience_video AS v ON v.tenant = d.tenant AND v.span = 'day' AND v.at = d.at AND v.watched_ms >= COALESCE((
		               SELECT o.watched_ms FROM audience_video AS o
		                WHERE o.tenant = d.tenant AND o.span = 'day' AND o.at = d.at ORDER BY o.watched_ms DESC LIMIT 1 OFFSET $4), 0)
		         WHERE d.tenant = $1 AND d.span = 'day' AND d.at >= $2 AND d.at < $3 AND v.views > 0
		         GROUP BY v.video_id) AS t
		  JOIN video ON video.id = t.video_id AND video.deleted_at IS NULL
		 ORDER BY t.watched DESC, t.views DESC, t.video_id LIMIT $5`,
		tenant, r.From.Truncate(day).UnixMilli(), r.To.UnixMilli(), topOfDay-1, limit)
}

// readBytes returns how much was sent of a tenant's videos since the beginning of a day.
func readBytes(ctx context.Context, q store.Queries, tenant video.Tenant, since time.Time) (bytes int64, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM audience_tenant WHERE tenant = $1 AND span = 'day' AND at >= $2`,
		tenant, since.UnixMilli()).Scan(&bytes)
	return bytes, store.Wrap("read the bytes of a tenant", err)
}
