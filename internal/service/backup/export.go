package backup

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/backend/store"
)

// exportRows writes the rows of all tables of backedUp, and returns how many there were in each: for each
// table a line with its name and columns, then a line for each row.
func exportRows(ctx context.Context, from *store.Snapshot, tables schema, w io.Writer) (map[string]int64, error) {
	out := bufio.NewWriter(w)
	counts := make(map[string]int64, len(backedUp))
	for _, table := range backedUp {
		columns, err := tables.columns(ctx, table)
		if err != nil {
			return nil, err
		}
		if counts[table], err = exportTable(ctx, out, from, table, columns); err != nil {
			return nil, fmt.Errorf("export table %s: %w", table, err)
		}
	}
	return counts, out.Flush()
}

// tableLine announces the rows of a table.
type tableLine struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

func exportTable(ctx context.Context, out *bufio.Writer, from *store.Snapshot, table string, columns []column) (int64, error) {
	if err := json.NewEncoder(out).Encode(tableLine{table, names(columns)}); err != nil {
		return 0, err
	}
	rows, err := from.QueryContext(ctx, `SELECT `+strings.Join(names(columns), ", ")+` FROM `+table+` ORDER BY `+strings.Join(primaryKey(columns), ", "))
	if err != nil {
		return 0, store.Wrap("read rows", err)
	}
	defer rows.Close()
	var n int64
	line, values := []byte(nil), newValues(columns)
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return n, store.Wrap("read rows", err)
		}
		if line, err = appendRow(line[:0], values); err != nil {
			return n, err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return n, err
		}
		n++
	}
	return n, store.Wrap("read rows", rows.Err())
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
