package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/spool-video/spool/internal/backend/store/migrate"
)

// How long PostgreSQL may keep us waiting. A server that is gone without a word
// must not hold a request for longer than a person waits.
const (
	connectionLimit = 2 * time.Second // for a connection out of the pool, made if need be
	lockLimit       = 3 * time.Second // for what another transaction has locked
	answerLimit     = 5 * time.Second // for the answer to one statement
)

// beat is how often a transaction that waits for something else says that it is
// still there.
const beat = 15 * time.Second

// connections is how many a process opens at most, where the address does not
// say pool_max_conns. The queue listens on one more, and beats on another.
const connections = 16

// sessionSettings are what every connection asks the server for, once it is made:
// poolers refuse those that ask for anything before.
//
// Locks end with their connection, so the server has to notice when the machine
// of a client is gone, and must not wait for ever for a process that was
// stopped in the middle of a transaction. One that runs is heard of more often
// than every five minutes: see Tx.KeepAliveWhile.
var sessionSettings = map[string]string{
	"lock_timeout":                        milliseconds(lockLimit),
	"statement_timeout":                   milliseconds(answerLimit),
	"idle_in_transaction_session_timeout": milliseconds(5 * time.Minute),
	"tcp_keepalives_idle":                 "10", // seconds
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
	"default_transaction_isolation":       "read committed",
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// OpenPostgres opens the database at address, a URL as libpq knows them, and
// brings its schema up to date. Several machines may share it.
//
// Unlike SQLite it has many writers at once. What must not happen twice is
// guarded by the WHERE of its statement or by Tx.Lock, never by the order in
// which two transactions happen to run.
func OpenPostgres(ctx context.Context, address string) (*Store, error) {
	config, err := postgresConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := checkSessions(ctx, config.ConnConfig); err != nil {
		return nil, diagnose(config.ConnConfig, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := sql.OpenDB(limitedConnector{stdlib.GetPoolConnector(pool)})
	db.SetMaxIdleConns(0) // the idle ones are the pool's
	s := &Store{queries: queries{db}, write: db, read: db, pool: pool, beat: beat}
	if err := s.checkPostgres(ctx); err != nil {
		return nil, errors.Join(diagnose(config.ConnConfig, err), s.Close())
	}
	return s, nil
}

// CheckURL reports what is wrong with the address of a database, without asking
// any server. The error goes on from "database_url".
func CheckURL(address string) error {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return errors.New(`must be like "postgres://user:password@host:5432/spool"; empty means SQLite`)
	}
	config, err := postgresConfig(address)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	// The rest of a password with an @ in it would be looked up, and logged, as a host.
	if strings.Contains(config.ConnConfig.Host, "@") {
		return errors.New("has an @ too many: in a password it is written %40")
	}
	return nil
}

func postgresConfig(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err // without the password
	}
	if !strings.Contains(address, "pool_max_conns") {
		config.MaxConns = connections
	}
	config.ConnConfig.ConnectTimeout = connectionLimit
	config.PingTimeout = connectionLimit / 2
	config.ConnConfig.Tracer = watch{}
	config.AfterConnect = withSettings(sessionSettings)
	config.PrepareConn = canWrite
	if params := config.ConnConfig.RuntimeParams; params["application_name"] == "" {
		params["application_name"] = "spool"
	}
	return config, nil
}

// withSettings returns what gives a new connection these settings.
func withSettings(settings map[string]string) func(context.Context, *pgx.Conn) error {
	var names, values []string
	for name, value := range settings {
		names, values = append(names, name), append(values, value)
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		const set = `SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting (name, value)`
		_, err := conn.Exec(ctx, set, names, values)
		return err
	}
}

// checkPostgres refuses a database that cannot hold every text, and brings the
// schema up to date.
func (s *Store) checkPostgres(ctx context.Context) error {
	var encoding string
	if err := s.write.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("its encoding is %s; create it with ENCODING 'UTF8'", encoding)
	}
	return s.Migrate(ctx, "store", migrations)
}

// Pool returns the connections to PostgreSQL; nil on SQLite.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// schemaLock is the advisory lock of ChangeSchema.
const schemaLock = 0x5b00_15c4

// ChangeSchema runs f while no other process of Spool changes the schema. f
// gets connections without limits of time: it may wait for others to finish,
// and a new index on a large table takes as long as it takes.
func (s *Store) ChangeSchema(ctx context.Context, f func(context.Context, *pgxpool.Pool) error) error {
	config := s.pool.Config() // a copy
	config.MaxConns, config.MinConns, config.MinIdleConns = 3, 0, 0
	config.ConnConfig.Tracer = nil
	settings := maps.Clone(sessionSettings)
	settings["lock_timeout"], settings["statement_timeout"] = "0", "0"
	config.AfterConnect = withSettings(settings)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to change the schema: %w", err)
	}
	defer pool.Close() // which also unlocks

	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to change the schema: %w", err)
	}
	defer conn.Close()
	if err := migrate.Lock(ctx, conn, schemaLock); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	return f(ctx, pool)
}

// limitedConnector gives up when the pool has no connection for too long.
type limitedConnector struct{ driver.Connector }

func (c limitedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectionLimit)
	defer cancel()
	return c.Connector.Connect(ctx)
}

// Raw gives f the driver's connection of this transaction, for a queue that
// speaks to PostgreSQL in its own way. What f does is part of the transaction.
func (t *Tx) Raw(f func(driverConn any) error) error {
	return wrap("change tasks", t.conn.Raw(f))
}

// KeepAliveWhile runs f, which takes long and does not use the transaction, and keeps the
// transaction alive meanwhile. When that fails, its locks are gone: f is told by
// the end of its context, and the error is returned when f has returned.
func (t *Tx) KeepAliveWhile(ctx context.Context, f func(context.Context) error) error {
	if t.beat == 0 {
		return f(ctx)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- f(running) }()
	ticks := time.NewTicker(t.beat)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticks.C:
			if _, err := t.db.ExecContext(ctx, `SELECT 1`); err != nil {
				err = wrap("keep a transaction alive", err)
				cancel(err)
				<-ended
				return err
			}
		}
	}
}
