package store

import (
	"context"
	"database/sql"
	"sync"
)

// maxPrepared bounds how many statements are kept. There are fewer, but for lists whose conditions
// clients choose.
const maxPrepared = 200

// prepared keeps the statements of a pool: SQLite takes longer to parse a short one than to run it.
// PostgreSQL's driver does this itself.
type prepared struct {
	*sql.DB
	mu         sync.RWMutex
	statements map[string]*sql.Stmt
}

func newPrepared(db *sql.DB) *prepared { return &prepared{DB: db, statements: map[string]*sql.Stmt{}} }

// statement returns the statement of a query, or nil: then the query itself is to be run, which also
// tells what is wrong with it.
func (p *prepared) statement(ctx context.Context, query string) *sql.Stmt {
	p.mu.RLock()
	s, full := p.statements[query], len(p.statements) >= maxPrepared
	p.mu.RUnlock()
	if s != nil || full {
		return s
	}
	s, err := p.DB.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.statements[query]; other != nil { // prepared by another request meanwhile
		_ = s.Close() // it was not used
		return other
	}
	p.statements[query] = s
	return s
}

// lookup returns the statement of a query that ran before. It prepares none: whoever has a transaction
// must not wait for another connection of the pool. prepareMissed does that, before the transaction.
func (p *prepared) lookup(query string) *sql.Stmt {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.statements[query]
}

// QueryContext is that of the pool.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext is that of the pool.
func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}

// forget closes the statements.
func (p *prepared) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.statements {
		_ = s.Close() // the pool closes what is left
	}
	clear(p.statements)
}

// reading returns the statements for use in a transaction of the pool that only reads. Call
// prepareMissed when it has ended.
func (p *prepared) reading(tx *sql.Tx) *preparedTx { return &preparedTx{Tx: tx, pool: p} }

// preparedTx is a transaction that only reads. A statement must not be run while its own rows are
// still read.
type preparedTx struct {
	*sql.Tx
	pool   *prepared // nil: there is none
	missed []string  // queries that were not prepared
}

// prepareMissed prepares what ran without being prepared, for the next time.
func (t *preparedTx) prepareMissed(ctx context.Context) {
	for _, query := range t.missed {
		t.pool.statement(ctx, query)
	}
}

// statement returns the statement of a query in this transaction, or nil.
func (t *preparedTx) statement(ctx context.Context, query string) *sql.Stmt {
	if t.pool == nil {
		return nil
	}
	s := t.pool.lookup(query)
	if s == nil {
		t.missed = append(t.missed, query)
		return nil
	}
	return t.Tx.StmtContext(ctx, s)
}

func (t *preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := t.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return t.Tx.QueryContext(ctx, query, args...)
}

func (t *preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return t.Tx.QueryRowContext(ctx, query, args...)
}
