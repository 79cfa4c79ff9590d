package backup

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/backend/store"
)

const (
	// maxRow is the longest row that is read. Plans of long videos have megabytes.
	maxRow = 256 << 20
	// insertRows, insertValues and insertBytes bound one INSERT.
	insertRows, insertValues = 200, 20_000
	insertBytes              = 8 << 20
)

// importRows stores what exportRows has written, in one transaction, which commits only if verify agrees with
// how many rows each table got.
func importRows(ctx context.Context, s *store.Store, r io.Reader, verify func(rows map[string]int64) error) error {
	var counts map[string]int64
	return s.InTx(ctx, func(tx *store.Tx) error {
		if counts != nil {
			return errors.New("the database interrupted the import: try again")
		}
		in := newImporter(tx, s.SingleWriter())
		counts = in.counts
		if err := in.read(ctx, r); err != nil {
			return fmt.Errorf("import rows: %w", err)
		}
		return verify(in.counts)
	})
}

// importer reads the rows of a backup.
type importer struct {
	tx      *store.Tx
	schema  schema
	counts  map[string]int64
	table   string
	columns []column
	batch   []any
	rows    int
	bytes   int // that the rows of the batch have as lines
}

func newImporter(tx *store.Tx, sqlite bool) *importer {
	return &importer{tx: tx, schema: schema{tx.Queries, sqlite}, counts: map[string]int64{}}
}

func (in *importer) read(ctx context.Context, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxRow)
	for lines.Scan() {
		if err := in.line(ctx, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return in.flush(ctx)
}

func (in *importer) line(ctx context.Context, line []byte) error {
	if len(line) > 0 && line[0] == '{' {
		if err := in.flush(ctx); err != nil {
			return err
		}
		return in.begin(ctx, line)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var values []any
	if err := dec.Decode(&values); err != nil {
		return fmt.Errorf("a row of table %s: %w", in.table, err)
	}
	if len(values) != len(in.columns) || in.table == "" {
		return fmt.Errorf("a row of table %q has %d values instead of %d", in.table, len(values), len(in.columns))
	}
	for i, v := range values {
		stored, err := in.columns[i].parse(v)
		if err != nil {
			return fmt.Errorf("column %s of table %s: %w", in.columns[i].name, in.table, err)
		}
		in.batch = append(in.batch, stored)
	}
	in.rows, in.bytes = in.rows+1, in.bytes+len(line)
	if in.rows == insertRows || len(in.batch)+len(in.columns) > insertValues || in.bytes >= insertBytes {
		return in.flush(ctx)
	}
	return nil
}

// begin starts with the rows of a table. The names of the table and of its columns become a part of a
// statement only if the schema has them.
func (in *importer) begin(ctx context.Context, line []byte) error {
	var t tableLine
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	if !slices.Contains(backedUp, t.Table) {
		return fmt.Errorf("there is no table %q", t.Table)
	}
	if _, twice := in.counts[t.Table]; twice {
		return fmt.Errorf("table %s comes twice", t.Table)
	}
	known, err := in.schema.columns(ctx, t.Table)
	if err != nil {
		return err
	}
	in.columns = in.columns[:0]
	for _, name := range t.Columns {
		i := slices.IndexFunc(known, func(c column) bool { return c.name == name })
		if i < 0 {
			return fmt.Errorf("table %s has no column %q", t.Table, name)
		}
		in.columns = append(in.columns, known[i])
	}
	in.table, in.counts[t.Table] = t.Table, 0
	return nil
}

func (in *importer) flush(ctx context.Context) error {
	if in.rows == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString(`INSERT INTO ` + in.table + ` (` + strings.Join(names(in.columns), ", ") + `) VALUES `)
	for n := range in.batch {
		switch {
		case n == 0:
			text.WriteString("(")
		case n%len(in.columns) == 0:
			text.WriteString("), (")
		default:
			text.WriteString(", ")
		}
		text.WriteString("$" + strconv.Itoa(n+1))
	}
	text.WriteString(")")
	stored, err := in.tx.Exec(ctx, "store rows of "+in.table, text.String(), in.batch...)
	in.counts[in.table] += stored
	clear(in.batch) // large values would live until others take their places
	in.batch, in.rows, in.bytes = in.batch[:0], 0, 0
	return err
}

// parse returns what is stored for a value of JSON.
func (c column) parse(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case json.Number:
		if c.kind == integerColumn {
			return strconv.ParseInt(string(v), 10, 64)
		}
		if c.kind == floatColumn {
			return strconv.ParseFloat(string(v), 64)
		}
	case bool:
		if c.kind == boolColumn {
			return v, nil
		}
	case string:
		if c.kind == textColumn {
			return v, nil
		}
		if c.kind == floatColumn { // infinite
			return strconv.ParseFloat(v, 64)
		}
	case map[string]any:
		if text, ok := v["base64"].(string); ok && c.kind == textColumn {
			b, err := base64.StdEncoding.DecodeString(text)
			return string(b), err
		}
	}
	return nil, fmt.Errorf("%.40v is of the wrong type", value)
}
