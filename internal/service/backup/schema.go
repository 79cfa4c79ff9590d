package backup

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/backend/store"
)

// backedUp are the tables that a backup includes, each after the tables that it refers to. A table is in
// this list or in notBackedUp: a test compares them with the schema, so that a new one is not forgotten.
var backedUp = []string{
	"api_key", "signing_key", "tenant", "brand", "brand_picture", "watermark", "video", "chapter_list", "resolution", "step", "video_cost", "execution", "metadata_index", "idempotency_key",
	"webhook", "webhook_secret", "webhook_event", "webhook_delivery", "video_import", "track_import", "upload_hash", "share", "cdn_purge", "audit_entry", "audience_video", "audience_tenant",
}

// notBackedUp are the other tables, and why a copy of the database has no use for their rows.
var notBackedUp = map[string]string{
	"said_video":          "captions are indexed again",
	"said_block":          "the same",
	"tag":                 "a restore counts the tags of the videos again",
	"migration":           "a restore makes the schema itself",
	"database_identity":   "a copy is another database, with an ownership marker of its own",
	"periodic_job":        "when periodic jobs last ran here, and the last backup of this database",
	"session":             "who is signed in: people sign in again at another server",
	"audience_viewer":     "who watches today, as hashes that are removed when the day is over",
	"audience_salt":       "what these hashes are made with, which nothing but this database may know",
	"upload_lease":        "which process writes to an upload now",
	"storage_usage":       "what the last sweeps counted",
	"backup_hold":         "which backups run now",
	"restore_in_progress": "whether this database is being filled",
}

// textIndex is the index of words on SQLite: a table that keeps itself up to date, with some that belong to it.
const textIndex = "said_index"

// columnKind is what a column holds, in either database.
type columnKind int

const (
	textColumn columnKind = iota
	integerColumn
	floatColumn
	boolColumn
)

// column is a column of a table.
type column struct {
	name string
	kind columnKind
	key  int // its place in the primary key; 0: it is not part of it
}

// kindsByType are the types that migrations use, as both databases call them.
var kindsByType = map[string]columnKind{
	"text": textColumn, "bigint": integerColumn, "integer": integerColumn, "boolean": boolColumn, "double precision": floatColumn,
}

const (
	sqliteColumns   = `SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid`
	postgresColumns = `
		SELECT c.column_name, c.data_type, coalesce(k.ordinal_position, 0)
		  FROM information_schema.columns AS c
		  LEFT JOIN information_schema.table_constraints AS t
		    ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.constraint_type = 'PRIMARY KEY'
		  LEFT JOIN information_schema.key_column_usage AS k
		    ON k.table_schema = c.table_schema AND k.constraint_name = t.constraint_name AND k.table_name = c.table_name AND k.column_name = c.column_name
		 WHERE c.table_schema = current_schema() AND c.table_name = $1 ORDER BY c.ordinal_position`
)

// schema reads which tables a database has. q may be a transaction.
type schema struct {
	q      store.Queries
	sqlite bool
}

// columns returns the columns of a table, in the order of the schema.
func (s schema) columns(ctx context.Context, table string) ([]column, error) {
	query := postgresColumns
	if s.sqlite {
		query = sqliteColumns
	}
	all, err := store.Collect(ctx, s.q, "read the schema", func(row *sql.Rows) (c column, err error) {
		var name string
		if err := row.Scan(&c.name, &name, &c.key); err != nil {
			return c, err
		}
		kind, ok := kindsByType[strings.ToLower(name)]
		if !ok {
			return c, fmt.Errorf("column %s of table %s is a %s, which a backup cannot hold", c.name, table, name)
		}
		c.kind = kind
		return c, nil
	}, query, table)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there is no table %s", table)
	}
	return all, err
}

// tables returns the names of all tables in the database but the ones of textIndex.
func (s schema) tables(ctx context.Context) ([]string, error) {
	query := `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`
	if s.sqlite {
		query = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '` + textIndex + `%' ORDER BY name`
	}
	return texts(ctx, s.q, "read the schema", query)
}

// texts returns the only column of a query.
func texts(ctx context.Context, q store.Queries, op, query string) ([]string, error) {
	return store.Collect(ctx, q, op, func(row *sql.Rows) (text string, err error) {
		err = row.Scan(&text)
		return text, err
	}, query)
}

// names returns the names of columns.
func names(all []column) []string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.name
	}
	return words
}

// primaryKey returns the names of the columns by which the rows of a table are told apart.
func primaryKey(all []column) []string {
	key := slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.key == 0 })
	slices.SortFunc(key, func(a, b column) int { return a.key - b.key })
	return names(key)
}
