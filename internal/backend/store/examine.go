package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Examination is what can be found out about a database without changing it.
type Examination struct {
	Version   string
	Now       time.Time // of the database's clock; zero on SQLite, which has none
	Encoding  string
	MayCreate bool     // tables
	ReadOnly  bool     // a standby
	Secrets   []string // tables that the user may read and a worker need not; see ReadableSecrets
}

// ExamineSQLite looks at a database file that exists. Nothing is changed.
func ExamineSQLite(ctx context.Context, path string) (Examination, error) {
	db, err := openReaders(path, 1)
	if err != nil {
		return Examination{}, err
	}
	defer db.Close()
	e := Examination{Encoding: "UTF8", MayCreate: true}
	var tables int
	if err := db.QueryRowContext(ctx, `SELECT sqlite_version(), (SELECT count(*) FROM sqlite_schema)`).Scan(&e.Version, &tables); err != nil {
		return Examination{}, fmt.Errorf("open database %s: %w", path, err)
	}
	return e, nil
}

// ExaminePostgres looks at the database at a libpq URL. Nothing is changed.
func ExaminePostgres(ctx context.Context, address string) (Examination, error) {
	config, err := postgresConfig(address, defaultTimeouts)
	if err != nil {
		return Examination{}, fmt.Errorf("open database: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return Examination{}, diagnose(config.ConnConfig, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var e Examination
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), clock_timestamp(), current_setting('server_encoding'),
		coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), pg_is_in_recovery()`,
	).Scan(&e.Version, &e.Now, &e.Encoding, &e.MayCreate, &e.ReadOnly)
	if err != nil {
		return Examination{}, diagnose(config.ConnConfig, err)
	}
	rows, err := conn.Query(ctx, readableSecrets)
	if err == nil {
		e.Secrets, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		return Examination{}, diagnose(config.ConnConfig, err)
	}
	if err := checkSessions(ctx, config.ConnConfig, defaultTimeouts.statement); err != nil {
		return Examination{}, diagnose(config.ConnConfig, err)
	}
	return e, nil
}

// LookSQLite calls f with a database file that exists, unless the file has no such table. Nothing is changed.
func LookSQLite(ctx context.Context, path, table string, f func(Queries) error) error {
	db, err := openReaders(path, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return look(ctx, Queries{db}, `SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = $1`, table, f)
}

// LookPostgres does the same with the database at a libpq URL.
func LookPostgres(ctx context.Context, address, table string, f func(Queries) error) error {
	config, err := postgresConfig(address, defaultTimeouts)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return diagnose(config.ConnConfig, err)
	}
	return look(ctx, Queries{db}, `SELECT to_regclass($1) IS NOT NULL`, table, f)
}

func look(ctx context.Context, q Queries, exists, table string, f func(Queries) error) error {
	var there bool
	if err := q.QueryRow(ctx, exists, table).Scan(&there); err != nil || !there {
		return Wrap("look for a table", err)
	}
	return f(q)
}
