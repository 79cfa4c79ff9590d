package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// BackedUp are the tables that a backup includes, each after the tables that it refers to. A table is in
// this list or in NotBackedUp: a test compares them with the schema, so that a new one is not forgotten.
var BackedUp = []string{
	"api_key", "signing_key", "tenant", "video", "resolution", "step", "video_cost", "execution", "metadata_index", "idempotency_key",
	"webhook", "webhook_secret", "webhook_event", "webhook_delivery", "video_import", "cdn_purge",
}

// NotBackedUp are the other tables, and why a copy of the database has no use for their rows.
var NotBackedUp = map[string]string{
	"migration":           "a restore makes the schema itself",
	"database_identity":   "a copy is another database, with an ownership marker of its own",
	"periodic_job":        "when periodic jobs last ran here, and the last backup of this database",
	"upload_lease":        "which process writes to an upload now",
	"storage_usage":       "what the last sweeps counted",
	"backup_hold":         "which backups run now",
	"restore_in_progress": "whether this database is being filled",
}

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
}

// kindsByType are the types that migrations use, as both databases call them.
var kindsByType = map[string]columnKind{
	"text": textColumn, "bigint": integerColumn, "integer": integerColumn, "boolean": boolColumn, "double precision": floatColumn,
}

// columns returns the columns of a table and of its primary key, in the order of the schema.
func (q Queries) columns(ctx context.Context, postgres bool, table string) (all []column, key []string, err error) {
	query := `SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid`
	if postgres {
		query = `
			SELECT c.column_name, c.data_type, coalesce(k.ordinal_position, 0)
			  FROM information_schema.columns AS c
			  LEFT JOIN information_schema.table_constraints AS t
			    ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.constraint_type = 'PRIMARY KEY'
			  LEFT JOIN information_schema.key_column_usage AS k
			    ON k.table_schema = c.table_schema AND k.constraint_name = t.constraint_name AND k.table_name = c.table_name AND k.column_name = c.column_name
			 WHERE c.table_schema = current_schema() AND c.table_name = $1 ORDER BY c.ordinal_position`
	}
	rows, err := q.db.QueryContext(ctx, query, table)
	if err != nil {
		return nil, nil, Wrap("read the schema", err)
	}
	defer rows.Close()
	places := map[string]int{}
	for rows.Next() {
		var name, kind string
		var place int
		if err := rows.Scan(&name, &kind, &place); err != nil {
			return nil, nil, Wrap("read the schema", err)
		}
		known, ok := kindsByType[strings.ToLower(kind)]
		if !ok {
			return nil, nil, fmt.Errorf("column %s of table %s is a %s, which a backup cannot hold", name, table, kind)
		}
		all = append(all, column{name, known})
		if place > 0 {
			key, places[name] = append(key, name), place
		}
	}
	if err := rows.Err(); err != nil {
		return nil, nil, Wrap("read the schema", err)
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("there is no table %s", table)
	}
	slices.SortFunc(key, func(a, b string) int { return places[a] - places[b] })
	return all, key, nil
}

// tables returns the names of all tables in the database.
func (q Queries) tables(ctx context.Context, postgres bool) ([]string, error) {
	query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`
	if postgres {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`
	}
	return q.queryNames(ctx, query)
}

// queryNames returns the only column of a query.
func (q Queries) queryNames(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := q.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, Wrap("read the schema", err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, Wrap("read the schema", err)
		}
		all = append(all, name)
	}
	return all, Wrap("read the schema", rows.Err())
}

// columnNames writes columns as a list of SQL.
func columnNames(all []column) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.name
	}
	return strings.Join(words, ", ")
}
