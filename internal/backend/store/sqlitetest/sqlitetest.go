// Package sqlitetest makes SQLite databases for tests. Each is a copy of one that was migrated
// once for all tests of a test binary: applying every migration takes longer than most tests.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
)

// Template is a database that is prepared once for all tests of a test binary. Its zero value has
// the schema of the store.
type Template struct {
	Prepare func(ctx context.Context, st *store.Store) error // adds to that schema; may be nil

	once sync.Once
	file []byte
	err  error
}

// Fresh returns the path of a copy of the template. It goes when the test ends.
func (p *Template) Fresh(t testing.TB) string {
	t.Helper()
	p.once.Do(func() { p.file, p.err = p.make(context.WithoutCancel(t.Context())) }) // other tests use it, too
	if p.err != nil {
		t.Fatalf("prepare the template: %v", p.err)
	}
	path := filepath.Join(t.TempDir(), "spool.db")
	if err := os.WriteFile(path, p.file, 0o600); err != nil {
		t.Fatalf("copy the template: %v", err)
	}
	return path
}

func (p *Template) make(ctx context.Context) (file []byte, err error) {
	dir, err := os.MkdirTemp("", "spool-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "spool.db")
	st, err := store.OpenSQLite(ctx, path)
	if err != nil {
		return nil, err
	}
	if p.Prepare != nil {
		err = p.Prepare(ctx, st)
	}
	if err == nil { // what is in the log would not be copied
		_, err = st.Writer().ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
