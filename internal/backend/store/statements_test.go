package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// numbers is a table with the numbers from 0 to 9, on the only connection that writes.
func numbers(t *testing.T) *sql.DB {
	t.Helper()
	db := openHere(t).write
	for _, text := range []string{
		`CREATE TABLE number (n INTEGER PRIMARY KEY)`,
		`INSERT INTO number WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT n FROM r`,
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// find returns the first column of what a query finds.
func find(t *testing.T, db querier, query string, args ...any) (all []int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// kept returns the statements that the connection of db keeps.
func kept(t *testing.T, db *sql.DB) map[string]*keptStatement {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var all map[string]*keptStatement
	if err := conn.Raw(func(c any) error { all = c.(*keepingConn).kept; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAStatementIsKept(t *testing.T) {
	t.Parallel()
	db := numbers(t)
	const below = `SELECT n FROM number WHERE n < $1 ORDER BY n`
	find(t, db, below, 1)
	first := kept(t, db)[below]
	if got := find(t, db, below, 3); first == nil || kept(t, db)[below] != first || !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the second time %v were found, with the statement %p; want 0 to 2 with %p", got, kept(t, db)[below], first)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := find(t, tx, below, 2)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if kept(t, db)[below] != first || !slices.Equal(got, []int{0, 1}) {
		t.Errorf("a transaction found %v with the statement %p; want 0 and 1 with %p", got, kept(t, db)[below], first)
	}
}

// A statement that runs again would begin anew with the rows that somebody reads.
func TestAStatementRunsBesideItself(t *testing.T) {
	t.Parallel()
	tx, err := numbers(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	const above = `SELECT n FROM number WHERE n > $1 ORDER BY n`
	rows, err := tx.QueryContext(t.Context(), above, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var outer []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		outer = append(outer, n)
		if inner := find(t, tx, above, n); len(inner) != 9-n {
			t.Errorf("%d numbers are above %d: %v", len(inner), n, inner)
		}
	}
	if !slices.Equal(outer, []int{7, 8, 9}) {
		t.Errorf("%v were read beside the same statement, want 7 to 9", outer)
	}
}

func TestAKeptStatementSurvivesItsErrors(t *testing.T) {
	t.Parallel()
	db := numbers(t)
	const insert = `INSERT INTO number VALUES ($1)`
	for n, refused := range map[int]bool{3: true, 10: false} {
		for range 2 {
			if _, err := db.ExecContext(t.Context(), insert, n); (err != nil) != refused {
				t.Errorf("inserting %d = %v; want it refused: %v", n, err, refused)
			}
			refused = true // it is there now
		}
	}
}

// It is stopped in a transaction that goes on: a connection that was stopped outside of one is not used again.
func TestAKeptStatementCanBeStopped(t *testing.T) {
	t.Parallel()
	db := numbers(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const endless = `WITH RECURSIVE r(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM r WHERE n < $2) SELECT max(n) FROM r`
	if got := find(t, tx, endless, 0, 5); !slices.Equal(got, []int{5}) {
		t.Fatalf("the largest number is %v, want 5", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	var n int
	if err := tx.QueryRowContext(ctx, endless, 0, 1<<62).Scan(&n); !errors.Is(err, context.Canceled) {
		t.Errorf("a statement that was stopped = %d, %v", n, err)
	}
	if got := find(t, tx, endless, 0, 7); !slices.Equal(got, []int{7}) {
		t.Errorf("after it was stopped the statement finds %v, want 7", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if kept(t, db)[endless] == nil {
		t.Error("the statement that was stopped is not kept: another one was tested")
	}
}

func TestAKeptStatementFollowsTheSchema(t *testing.T) {
	t.Parallel()
	db := numbers(t)
	const all = `SELECT * FROM number WHERE n = 0`
	find(t, db, all)
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE number ADD COLUMN name TEXT DEFAULT 'none'`); err != nil {
		t.Fatal(err)
	}
	var n int
	var name string
	if err := db.QueryRowContext(t.Context(), all).Scan(&n, &name); err != nil || name != "none" {
		t.Errorf("after the table got another column the statement finds %d %q, %v", n, name, err)
	}
}

func TestKeptStatementsAreBounded(t *testing.T) {
	t.Parallel()
	db := numbers(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tx.QueryContext(t.Context(), `SELECT n FROM number`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxStatements { // beside rows that are read
		if got := find(t, tx, fmt.Sprintf(`SELECT n + %d FROM number WHERE n = 0`, i)); !slices.Equal(got, []int{i}) {
			t.Fatalf("statement %d finds %v", i, got)
		}
	}
	n := 0
	for rows.Next() {
		n++
	}
	if err := errors.Join(rows.Err(), rows.Close(), tx.Rollback()); err != nil || n != 10 {
		t.Errorf("%d rows were read meanwhile, %v; want 10", n, err)
	}
	if n := len(kept(t, db)); n > maxStatements {
		t.Errorf("%d statements are kept, want at most %d", n, maxStatements)
	}
}

func TestWhatIsWorthKeeping(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"SELECT 1":                       true,
		"\n\t\tINSERT INTO a VALUES (1)": true,
		"WITH a AS (SELECT 1) SELECT 1":  true,
		"PRAGMA synchronous = OFF":       false,
		"CREATE TABLE a (b TEXT)":        false,
		"SELECT 1; SELECT 2":             false,
		"  ":                             false,
		"":                               false,
		"SELECT '" + strings.Repeat("x", maxStatement) + "'": false,
	} {
		if worthKeeping(query) != want {
			t.Errorf("worthKeeping(%q) is not %v", query, want)
		}
	}
}
