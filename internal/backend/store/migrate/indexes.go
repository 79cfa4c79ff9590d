package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// indexLock is the advisory lock of those who build indexes on PostgreSQL.
const indexLock = 0x5b00_1d0e

// lockPause is how often a lock is asked for that somebody else has.
const lockPause = 100 * time.Millisecond

var indexStatement = regexp.MustCompile(`(?s)^CREATE INDEX (\w+) (ON .+)$`)

// index is one that a migration makes.
type index struct{ name, on string }

// onlyIndexes returns what a migration makes when it makes nothing but indexes.
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

// buildIndexes makes indexes on PostgreSQL while others go on writing: on a
// large table an ordinary CREATE INDEX would keep them waiting for longer than a
// request may take. This way it cannot be part of a transaction, so the record
// follows when all is done, and what is there already is not made again.
func buildIndexes(ctx context.Context, db *sql.DB, set, name string, list []index) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	if err := Lock(ctx, conn, indexLock); err != nil {
		return fmt.Errorf("wait for others who build indexes: %w", err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, indexLock) // fails with the connection, which unlocks, too

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

// Lock takes an advisory lock of PostgreSQL for a connection. It asks again and
// again instead of waiting in the server: a statement that waits there counts as
// an old reader, for whose end the build of an index waits.
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

// build makes the index. A build that was broken off leaves one that costs
// every write and serves no reader: it is made anew.
func (ix index) build(ctx context.Context, conn *sql.Conn) error {
	const question = `SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)`
	var broken bool
	if err := conn.QueryRowContext(ctx, question, ix.name).Scan(&broken); err != nil {
		return fmt.Errorf("look for index %s: %w", ix.name, err)
	}
	if broken {
		if _, err := conn.ExecContext(ctx, `DROP INDEX CONCURRENTLY `+ix.name); err != nil {
			return fmt.Errorf("drop what is left of index %s: %w", ix.name, err)
		}
	}
	if _, err := conn.ExecContext(ctx, `CREATE INDEX CONCURRENTLY IF NOT EXISTS `+ix.name+` `+ix.on); err != nil {
		return fmt.Errorf("build index %s: %w", ix.name, err)
	}
	return nil
}
