package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Examination is what can be found out about a database without changing it.
type Examination struct {
	Version   string
	Now       time.Time // of the database's clock; zero on SQLite, which has none
	Encoding  string
	MayCreate bool // tables
	ReadOnly  bool // a standby
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
	if err := checkSessions(ctx, config.ConnConfig, defaultTimeouts.statement); err != nil {
		return Examination{}, diagnose(config.ConnConfig, err)
	}
	return e, nil
}

// webhookURLs reads so many webhooks that one sees whether the internet can be reached.
const webhookURLs = `SELECT url FROM webhook WHERE enabled AND NOT pull ORDER BY id LIMIT 20`

// SQLiteWebhookURLs returns where events are sent, of the first 20 webhooks. An older database has none.
func SQLiteWebhookURLs(ctx context.Context, path string) ([]string, error) {
	db, err := openReaders(path, 1)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var tables int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'webhook'`).Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, webhookURLs)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var address string
		if err := rows.Scan(&address); err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	return all, rows.Err()
}

// PostgresWebhookURLs is the same for the database at a libpq URL.
func PostgresWebhookURLs(ctx context.Context, address string) ([]string, error) {
	config, err := postgresConfig(address, defaultTimeouts)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, diagnose(config.ConnConfig, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('webhook') IS NOT NULL`).Scan(&there); err != nil || !there {
		return nil, err
	}
	rows, err := conn.Query(ctx, webhookURLs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
