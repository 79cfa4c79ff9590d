package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// errShared means that a pooler stands between us and the server, and does not
// keep our sessions. Our limits of time, the lock of the schema and the listening
// of the workers all belong to a session: they would be lost, or be others'.
var errShared = errors.New("a pooler gives each transaction another connection: connect directly, or set the pooler to session mode (pool_mode=session)")

// checkSessions fails with errShared when two connections turn out to be the same
// one of the server, or one to be several.
func checkSessions(ctx context.Context, config *pgx.ConnConfig) (err error) {
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.ConnectConfig(ctx, config.Copy()); err != nil {
			return err
		}
		defer conns[i].Close(context.WithoutCancel(ctx))
	}
	var seen [2]string
	for range 3 { // others use the pooler as well, and may be in between by chance
		for i, conn := range conns {
			process, err := processOf(ctx, conn)
			if err != nil {
				return fmt.Errorf("look whether the connection is our own: %w", err)
			}
			if seen[i] != "" && process != seen[i] || process == seen[1-i] {
				return errShared
			}
			seen[i] = process
		}
	}
	return nil
}

// processOf returns which process of the server answers now. The statement is not
// prepared: poolers mix up those that are.
func processOf(ctx context.Context, conn *pgx.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	answers, err := conn.PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return "", err
	}
	return string(answers[0].Rows[0][0]), nil
}
