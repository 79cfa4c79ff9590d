package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/spool-video/spool/internal/backend/store/migrate"
)

// timeouts bound what PostgreSQL is waited for. A server that vanishes without
// closing its connections must not hold a request for longer than a person waits.
type timeouts struct {
	connect   time.Duration // to get a connection from the pool, or to make one
	lock      time.Duration // for a lock that another transaction holds
	statement time.Duration // for the answer to one statement
}

var defaultTimeouts = timeouts{connect: 2 * time.Second, lock: 3 * time.Second, statement: 5 * time.Second}

// keepAliveInterval is how often KeepAliveWhile sends a statement.
const keepAliveInterval = 15 * time.Second

// maxConnections is the size of the pool if the URL does not set pool_max_conns.
// The queue listens on one more connection, and sends heartbeats on another.
const maxConnections = 16

// sessionSettings are set on every connection after it is made: poolers refuse
// connections that ask for settings earlier.
//
// Locks end with their connection. So the server has to notice if the machine of a
// client is gone, and must not wait for ever for a process that was stopped in the
// middle of a transaction. A live transaction sends something more often than
// every five minutes: see Tx.KeepAliveWhile.
func (t timeouts) sessionSettings() map[string]string {
	return map[string]string{
		"lock_timeout":                        milliseconds(t.lock),
		"statement_timeout":                   milliseconds(t.statement),
		"idle_in_transaction_session_timeout": milliseconds(5 * time.Minute),
		"tcp_keepalives_idle":                 "10", // seconds
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
		"default_transaction_isolation":       "read committed",
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// OpenPostgres opens the database at a libpq URL and brings its schema up to date.
// Several machines may share it.
//
// Unlike SQLite it has many writers at once. What must not happen twice is guarded
// by the WHERE of its statement or by Tx.Lock, never by the order in which two
// transactions happen to run.
func OpenPostgres(ctx context.Context, address string) (*Store, error) {
	return openPostgres(ctx, address, defaultTimeouts)
}

func openPostgres(ctx context.Context, address string, t timeouts) (*Store, error) {
	return openPostgresWith(ctx, address, t, migrations)
}

// openPostgresWith applies these migrations; nil: none.
func openPostgresWith(ctx context.Context, address string, t timeouts, files fs.FS) (*Store, error) {
	config, err := postgresConfig(address, t)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := checkSessions(ctx, config.ConnConfig, t.statement); err != nil {
		return nil, diagnose(config.ConnConfig, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := sql.OpenDB(limitedConnector{stdlib.GetPoolConnector(pool), t.connect})
	db.SetMaxIdleConns(0) // the pool keeps idle connections
	s := &Store{Queries: Queries{db}, write: db, read: db, pool: pool, timeouts: t, keepAlive: keepAliveInterval}
	if err := s.checkPostgres(ctx, files); err != nil {
		return nil, errors.Join(diagnose(config.ConnConfig, err), s.Close())
	}
	return s, nil
}

// CheckURL reports what is wrong with the URL of a database, without contacting any
// server. The error text continues a sentence that begins with "database_url".
func CheckURL(address string) error {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return errors.New(`must be like "postgres://user:password@host:5432/spool"; empty means SQLite`)
	}
	if _, err := url.Parse(address); err != nil { // the error may hold a part of the password
		return errors.New("cannot be read: it is not a URL. In a password, / is written %2F, @ is %40 and % is %25")
	}
	config, err := postgresConfig(address, defaultTimeouts)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	// The part of a password after an unescaped @ would be resolved, and logged, as a host.
	if strings.Contains(config.ConnConfig.Host, "@") {
		return errors.New("has an @ too many: in a password it is written %40")
	}
	return nil
}

func postgresConfig(address string, t timeouts) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err // without the password
	}
	if !strings.Contains(address, "pool_max_conns") {
		config.MaxConns = maxConnections
	}
	config.ConnConfig.ConnectTimeout = t.connect
	config.PingTimeout = t.connect / 2
	config.ConnConfig.Tracer = tracer{t.statement}
	config.AfterConnect = withSettings(t.sessionSettings())
	config.PrepareConn = canWrite
	if params := config.ConnConfig.RuntimeParams; params["application_name"] == "" {
		params["application_name"] = "spool"
	}
	return config, nil
}

// withSettings returns a hook that applies settings to a new connection.
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
func (s *Store) checkPostgres(ctx context.Context, files fs.FS) error {
	var encoding string
	if err := s.write.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("its encoding is %s; create it with ENCODING 'UTF8'", encoding)
	}
	return s.migrateStore(ctx, files)
}

// Pool returns the connections to PostgreSQL; nil on SQLite.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// schemaLock is the advisory lock of ChangeSchema.
const schemaLock = 0x5b00_15c4

// ChangeSchema runs f while no other process of Spool changes the schema. The
// connections of f have no timeouts: it may wait for others to finish, and a new
// index on a large table takes long.
func (s *Store) ChangeSchema(ctx context.Context, f func(context.Context, *pgxpool.Pool) error) error {
	pool, err := s.unlimited(ctx, 3, s.timeouts.sessionSettings()["idle_in_transaction_session_timeout"])
	if err != nil {
		return fmt.Errorf("connect to change the schema: %w", err)
	}
	defer pool.Close() // which also releases the lock

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

// limitedConnector gives up if the pool has no connection in time.
type limitedConnector struct {
	driver.Connector
	timeout time.Duration
}

func (c limitedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.Connector.Connect(ctx)
}

// Raw gives f the driver's connection of this transaction, for a queue that uses
// pgx directly. What f does is part of the transaction.
func (t *Tx) Raw(f func(driverConn any) error) error {
	return Wrap("change tasks", t.conn.Raw(f))
}
