package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// tracer sees every statement, including commits and rollbacks. It ends a statement
// that is not answered in time: the server's own statement_timeout does not help if
// the server is gone. It also marks connections to a read-only server.
type tracer struct{ timeout time.Duration }

var _ pgx.QueryTracer = tracer{}

type cancelKey struct{}

// TraceQueryStart returns the context that the statement runs with.
func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	return context.WithValue(ctx, cancelKey{}, cancel)
}

// TraceQueryEnd is called when the last row has been read.
func (tracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, end pgx.TraceQueryEndData) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
	if pgCode(end.Err) == pgReadOnly {
		conn.PgConn().CustomData()[readOnlyMark] = true
	}
}

// readOnlyMark marks a connection whose server has refused to write.
const readOnlyMark = "spool read-only"

// canWrite keeps the pool from reusing a marked connection. Its server has become a
// standby, or its name still resolved to the old primary, and it goes on reading as
// if nothing were wrong: the connection would stay in the pool for an hour. The
// next connection is a new one, to whichever server is the primary then.
func canWrite(_ context.Context, conn *pgx.Conn) (bool, error) {
	return conn.PgConn().CustomData()[readOnlyMark] == nil, nil
}
