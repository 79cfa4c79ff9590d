package backup

import (
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
	maxRow = 64 << 20
	// maxColumns is how many columns a table may have.
	maxColumns = 1000
	// insertRows, insertValues and insertBytes bound one INSERT.
	insertRows, insertValues = 200, 20_000
	insertBytes              = 8 << 20
)

var errNames = fmt.Errorf("a table does not name its columns, or more than %d", maxColumns)

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

// read reads value by value, because a row of a hostile backup may have millions of them.
func (in *importer) read(ctx context.Context, r io.Reader) error {
	limit := &rowReader{in: in, reader: r}
	d := json.NewDecoder(limit)
	d.UseNumber()
	for {
		limit.read = 0
		began := d.InputOffset()
		first, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return in.flush(ctx)
		case err != nil:
			return err
		case first == json.Delim('{'):
			err = in.begin(ctx, d)
		case first == json.Delim('[') && in.table != "":
			err = in.row(ctx, d, began)
		default:
			err = errors.New("there is something between the rows")
		}
		if err != nil {
			return err
		}
	}
}

// rowReader limits how much is read for one row.
type rowReader struct {
	in     *importer
	reader io.Reader
	read   int
}

func (r *rowReader) Read(p []byte) (int, error) {
	if r.read > maxRow {
		return 0, fmt.Errorf("%s is longer than %d MiB", r.in.current(), maxRow>>20)
	}
	n, err := r.reader.Read(p[:min(len(p), 64<<10)]) // no more than it needs
	r.read += n
	return n, err
}

// current names the row that is read.
func (in *importer) current() string {
	return fmt.Sprintf("row %d of table %q", in.counts[in.table]+int64(in.rows)+1, in.table)
}

// row reads the values of a row behind its bracket.
func (in *importer) row(ctx context.Context, d *json.Decoder, began int64) error {
	n := 0
	for ; d.More(); n++ {
		if n == len(in.columns) {
			return fmt.Errorf("%s has more than %d values", in.current(), n)
		}
		value, err := readValue(d)
		if err == nil {
			value, err = in.columns[n].parse(value)
		}
		if err != nil {
			return fmt.Errorf("%s, column %s: %w", in.current(), in.columns[n].name, err)
		}
		in.batch = append(in.batch, value)
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%s: %w", in.current(), err)
	}
	if n < len(in.columns) {
		return fmt.Errorf("%s has %d values instead of %d", in.current(), n, len(in.columns))
	}
	in.rows, in.bytes = in.rows+1, in.bytes+int(d.InputOffset()-began)
	if in.rows == insertRows || len(in.batch)+len(in.columns) > insertValues || in.bytes >= insertBytes {
		return in.flush(ctx)
	}
	return nil
}

// readValue reads null, a bool, a json.Number, a string or a binaryText.
func readValue(d *json.Decoder) (any, error) {
	value, err := d.Token()
	if err != nil || value != json.Delim('{') {
		return value, err
	}
	var tokens [3]json.Token // a name, a text and the end
	for i := range tokens {
		if tokens[i], err = d.Token(); err != nil {
			return nil, err
		}
	}
	text, ok := tokens[1].(string)
	if !ok || tokens[0] != "base64" || tokens[2] != json.Delim('}') {
		return nil, errors.New("an object is no value")
	}
	return binaryText{text}, nil
}

// begin starts with the rows of a table. The names of the table and of its columns become a part of a
// statement only if the schema has them.
func (in *importer) begin(ctx context.Context, d *json.Decoder) error {
	if err := in.flush(ctx); err != nil {
		return err
	}
	t, err := readTable(d)
	if err != nil {
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

// readTable reads what announces the rows of a table, behind its bracket.
func readTable(d *json.Decoder) (t tableLine, err error) {
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return t, err
		}
		switch name {
		case "table":
			err = d.Decode(&t.Table)
		case "columns":
			t.Columns, err = readNames(d)
		default:
			err = fmt.Errorf("a table has the unknown property %v", name)
		}
		if err != nil {
			return t, err
		}
	}
	_, err = d.Token()
	return t, err
}

// readNames reads a list of the names of columns.
func readNames(d *json.Decoder) (names []string, err error) {
	if bracket, err := d.Token(); err != nil || bracket != json.Delim('[') {
		return nil, errors.Join(errNames, err)
	}
	for d.More() {
		value, err := d.Token()
		name, ok := value.(string)
		if err != nil || !ok || len(names) == maxColumns {
			return nil, errors.Join(errNames, err)
		}
		names = append(names, name)
	}
	_, err = d.Token()
	return names, err
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
	case binaryText:
		if c.kind == textColumn {
			b, err := base64.StdEncoding.DecodeString(v.Base64)
			return string(b), err
		}
	}
	return nil, fmt.Errorf("%.40v is of the wrong type", value)
}
