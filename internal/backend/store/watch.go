package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// watch looks at every statement, commits and rollbacks included. It gives up when
// one is not answered for too long: the server's own statement_timeout does not
// help when it is the server that is gone. And it marks connections to a server
// that only reads.
type watch struct{}

var _ pgx.QueryTracer = watch{}

type stopKey struct{}

// TraceQueryStart returns the context that the statement runs with.
func (watch) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	ctx, stop := context.WithTimeout(ctx, answerLimit)
	return context.WithValue(ctx, stopKey{}, stop)
}

// TraceQueryEnd is called when the last row has been read.
func (watch) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, end pgx.TraceQueryEndData) {
	if stop, ok := ctx.Value(stopKey{}).(context.CancelFunc); ok {
		stop()
	}
	if pgCode(end.Err) == pgReadOnly {
		conn.PgConn().CustomData()[onlyReads] = true
	}
}

// onlyReads marks a connection whose server has refused to write.
const onlyReads = "spool only reads"

// canWrite keeps such a connection from being used again. Its server has become a
// standby, or was found under a name that still led to the old one, and goes on
// reading as if nothing were wrong: without this the connection would stay in the
// pool for an hour. The next one is made anew, to whoever is the primary then.
func canWrite(_ context.Context, conn *pgx.Conn) (bool, error) {
	return conn.PgConn().CustomData()[onlyReads] == nil, nil
}
