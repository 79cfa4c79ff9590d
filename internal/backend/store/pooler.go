package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// errShared means that a pooler between us and the server does not keep our
// sessions. Timeouts, the schema lock and the workers' LISTEN all belong to a
// session: they would be lost, or apply to other clients.
var errShared = errors.New("a pooler gives each transaction another connection: connect directly, or set the pooler to session mode (pool_mode=session)")

// checkSessions fails with errShared if two of our connections share a process of
// the server, or if one connection changes its process.
func checkSessions(ctx context.Context, config *pgx.ConnConfig, timeout time.Duration) (err error) {
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.ConnectConfig(ctx, config.Copy()); err != nil {
			return err
		}
		defer conns[i].Close(context.WithoutCancel(ctx))
	}
	var seen [2]string
	for range 3 { // with other clients on the pooler, one try may succeed by chance
		for i, conn := range conns {
			process, err := processOf(ctx, conn, timeout)
			if err != nil {
				return fmt.Errorf("check that the connection is not shared: %w", err)
			}
			if seen[i] != "" && process != seen[i] || process == seen[1-i] {
				return errShared
			}
			seen[i] = process
		}
	}
	return nil
}

// processOf returns which process of the server answers. The statement is not
// prepared, because poolers confuse prepared statements.
func processOf(ctx context.Context, conn *pgx.Conn, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answers, err := conn.PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return "", err
	}
	return string(answers[0].Rows[0][0]), nil
}
