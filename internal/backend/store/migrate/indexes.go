package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// indexLock is the advisory lock for building indexes on PostgreSQL.
const indexLock = 0x5b00_1d0e

// lockPause is the pause between two tries to take a lock that is held.
const lockPause = 100 * time.Millisecond

var indexStatement = regexp.MustCompile(`(?s)^CREATE INDEX (\w+) (ON .+)$`)

// index is an index that a migration creates.
type index struct{ name, on string }

// onlyIndexes returns the indexes of a migration that creates nothing else.
func onlyIndexes(script string) []index {
	var code strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			code.WriteString(line)
		}
	}
	var out []index
	for statement := range strings.SplitSeq(code.String(), ";") {
		statement = strings.TrimSpace(statement)
		if statement == "" {
			continue
		}
		match := indexStatement.FindStringSubmatch(statement)
		if match == nil {
			return nil
		}
		out = append(out, index{name: match[1], on: match[2]})
	}
	return out
}

// buildIndexes creates indexes on PostgreSQL without blocking writers: on a large
// table an ordinary CREATE INDEX would block them for longer than a request may
// take. A concurrent build cannot be part of a transaction, so the record follows
// when all is done, and existing indexes are not built again.
func buildIndexes(ctx context.Context, db *sql.DB, set, name string, list []index) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	if err := Lock(ctx, conn, indexLock); err != nil {
		return fmt.Errorf("wait for other index builds: %w", err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, indexLock) // if this fails, the connection is gone, which also unlocks

	var done bool
	err = conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM migration WHERE set_name = $1 AND name = $2)`, set, name).Scan(&done)
	if err != nil || done {
		return err
	}
	for _, ix := range list {
		if err := ix.build(ctx, conn); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, record, set, name, time.Now().UnixMilli())
	return err
}

// Lock takes an advisory lock of PostgreSQL for a connection. It polls instead of
// waiting in the server: a waiting statement counts as an old reader, and a
// concurrent index build waits for all of those.
func Lock(ctx context.Context, conn *sql.Conn, lock int64) error {
	for {
		var free bool
		if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, lock).Scan(&free); err != nil || free {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// build creates the index. An interrupted build leaves an invalid index that slows
// down writes and serves no reader: it is dropped and built again.
func (ix index) build(ctx context.Context, conn *sql.Conn) error {
	const question = `SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)`
	var broken bool
	if err := conn.QueryRowContext(ctx, question, ix.name).Scan(&broken); err != nil {
		return fmt.Errorf("check index %s: %w", ix.name, err)
	}
	if broken {
		if _, err := conn.ExecContext(ctx, `DROP INDEX CONCURRENTLY `+ix.name); err != nil {
			return fmt.Errorf("drop invalid index %s: %w", ix.name, err)
		}
	}
	if _, err := conn.ExecContext(ctx, `CREATE INDEX CONCURRENTLY IF NOT EXISTS `+ix.name+` `+ix.on); err != nil {
		return fmt.Errorf("build index %s: %w", ix.name, err)
	}
	return nil
}
