package store

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/spool-video/spool/internal/video"
)

// ReadView sees one moment of a database, for as long as it is open. It only reads, on a connection
// without the time limits of requests: a table may take minutes.
type ReadView struct {
	Queries
	tx       *sql.Tx
	postgres bool
	close    func()
}

// OpenReadView begins to read a database. The caller closes it soon: while it is open, SQLite's log and
// PostgreSQL's tables cannot shrink.
func OpenReadView(ctx context.Context, s *Store) (*ReadView, error) {
	db, done := s.read, func() {}
	if s.pool != nil {
		pool, err := s.unlimited(ctx, 1, "0")
		if err != nil {
			return nil, Wrap("connect to read everything", err)
		}
		other := stdlib.OpenDBFromPool(pool)
		db, done = other, func() { other.Close(); pool.Close() }
	}
	tx, err := db.BeginTx(ctx, snapshotOptions)
	if err != nil {
		done()
		return nil, Wrap("begin to read", err)
	}
	view := &ReadView{Queries: Queries{tx}, tx: tx, postgres: s.pool != nil, close: done}
	// The first statement fixes the moment.
	if _, err := view.Applied(ctx); err != nil {
		view.Close()
		return nil, err
	}
	return view, nil
}

// unlimited returns connections without time limits but one: how long a transaction may be idle, in
// milliseconds.
func (s *Store) unlimited(ctx context.Context, most int32, idle string) (*pgxpool.Pool, error) {
	config := s.pool.Config() // a copy
	config.MaxConns, config.MinConns, config.MinIdleConns = most, 0, 0
	config.ConnConfig.Tracer = nil
	settings := s.timeouts.sessionSettings()
	settings["lock_timeout"], settings["statement_timeout"], settings["idle_in_transaction_session_timeout"] = "0", "0", idle
	config.AfterConnect = withSettings(settings)
	return pgxpool.NewWithConfig(ctx, config)
}

// Close ends the reading.
func (v *ReadView) Close() {
	_ = v.tx.Rollback() // there is nothing to commit
	v.close()
}

// Applied returns the names of the migrations that the schema has.
func (v *ReadView) Applied(ctx context.Context) ([]string, error) {
	return v.queryNames(ctx, appliedMigrations)
}

const appliedMigrations = `SELECT name FROM migration WHERE set_name = 'store' ORDER BY name`

// QueryContext is for the queue, which has its own statements.
func (v *ReadView) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := v.db.QueryContext(ctx, query, args...)
	return rows, Wrap("read tasks", err)
}

// Videos returns the next videos by id, with their resolutions, also those that are marked deleted.
// Their plans, which may have megabytes, are not read.
func (v *ReadView) Videos(ctx context.Context, after video.ID, limit int) ([]video.Video, error) {
	page, err := Collect(ctx, v.Queries, "read videos", func(row *sql.Rows) (video.Video, error) { return scanVideo(row) },
		`SELECT `+columnsWithoutPlan+` FROM video WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	ids := make([]video.ID, len(page))
	for i, one := range page {
		ids[i] = one.ID
	}
	resolutions, err := v.resolutions(ctx, ids)
	for i, one := range page {
		page[i].Resolutions = resolutions[one.ID]
	}
	return page, err
}

// InWork returns which of some videos have steps: work on them is not finished.
func (v *ReadView) InWork(ctx context.Context, ids []video.ID) (map[video.ID]bool, error) {
	in, arg := IDList(1, ids)
	found, err := v.queryIDs(ctx, `SELECT DISTINCT video_id FROM step WHERE video_id IN `+in, arg)
	all := make(map[video.ID]bool, len(found))
	for _, id := range found {
		all[id] = true
	}
	return all, err
}

// Export writes the rows of all tables of BackedUp, and returns how many there were in each: for each
// table a line with its name and columns, then a line for each row.
func (v *ReadView) Export(ctx context.Context, w io.Writer) (map[string]int64, error) {
	out := bufio.NewWriter(w)
	counts := make(map[string]int64, len(BackedUp))
	for _, table := range BackedUp {
		n, err := v.exportTable(ctx, out, table)
		if err != nil {
			return nil, fmt.Errorf("export table %s: %w", table, err)
		}
		counts[table] = n
	}
	return counts, out.Flush()
}

// tableLine announces the rows of a table.
type tableLine struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

func (v *ReadView) exportTable(ctx context.Context, out *bufio.Writer, table string) (int64, error) {
	columns, key, err := v.columns(ctx, v.postgres, table)
	if err != nil {
		return 0, err
	}
	if err := json.NewEncoder(out).Encode(tableLine{table, strings.Split(columnNames(columns), ", ")}); err != nil {
		return 0, err
	}
	rows, err := v.db.QueryContext(ctx, `SELECT `+columnNames(columns)+` FROM `+table+` ORDER BY `+strings.Join(key, ", "))
	if err != nil {
		return 0, Wrap("read rows", err)
	}
	defer rows.Close()
	var n int64
	line, values := []byte(nil), newValues(columns)
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return n, Wrap("read rows", err)
		}
		if line, err = appendRow(line[:0], values); err != nil {
			return n, err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return n, err
		}
		n++
	}
	return n, Wrap("read rows", rows.Err())
}

// newValues returns what a row is scanned into.
func newValues(columns []column) []any {
	values := make([]any, len(columns))
	for i, c := range columns {
		switch c.kind {
		case integerColumn:
			values[i] = new(sql.NullInt64)
		case floatColumn:
			values[i] = new(sql.NullFloat64)
		case boolColumn:
			values[i] = new(sql.NullBool)
		default:
			values[i] = new(sql.NullString)
		}
	}
	return values
}

// binaryText is a text that is not UTF-8, which JSON cannot hold. Only SQLite may have such.
type binaryText struct {
	Base64 string `json:"base64"`
}

// appendRow writes a row as a JSON list.
func appendRow(line []byte, values []any) ([]byte, error) {
	line = append(line, '[')
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		text, err := json.Marshal(plainValue(v))
		if err != nil {
			return nil, err
		}
		line = append(line, text...)
	}
	return append(line, ']'), nil
}

// plainValue returns what was scanned as a value of JSON; nil is NULL.
func plainValue(scanned any) any {
	switch v := scanned.(type) {
	case *sql.NullInt64:
		if v.Valid {
			return v.Int64
		}
	case *sql.NullBool:
		if v.Valid {
			return v.Bool
		}
	case *sql.NullFloat64:
		if v.Valid && (math.IsInf(v.Float64, 0) || math.IsNaN(v.Float64)) {
			return strconv.FormatFloat(v.Float64, 'g', -1, 64)
		}
		if v.Valid {
			return v.Float64
		}
	case *sql.NullString:
		if v.Valid && !utf8.ValidString(v.String) {
			return binaryText{base64.StdEncoding.EncodeToString([]byte(v.String))}
		}
		if v.Valid {
			return v.String
		}
	}
	return nil
}

// KnownMigrations returns the migrations of this version, by name.
func KnownMigrations() []string {
	entries, _ := migrations.ReadDir("migrations") // embedded: it is there
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.Sort(all)
	return all
}
