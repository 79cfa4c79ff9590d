package store

import (
	"context"
	"database/sql"
	"io/fs"
	"slices"
)

// OpenSQLiteAt creates or opens the database file at path with the schema that it has after some of
// the migrations, so that the rows of an older version fit. What later migrations do to rows, they do
// when the database is next opened by OpenSQLite.
func OpenSQLiteAt(ctx context.Context, path string, applied []string) (*Store, error) {
	return openSQLiteWith(ctx, path, subset{migrations, applied})
}

// OpenPostgresAt is OpenSQLiteAt for PostgreSQL.
func OpenPostgresAt(ctx context.Context, address string, applied []string) (*Store, error) {
	return openPostgresWith(ctx, address, defaultTimeouts, subset{migrations, applied})
}

// subset is some of the files in a file system.
type subset struct {
	fs.ReadDirFS
	names []string
}

// ReadDir lists the files of the subset.
func (s subset) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := s.ReadDirFS.ReadDir(name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && !slices.Contains(s.names, e.Name())
	}), err
}

// ConnectPostgres opens a database without touching its schema.
func ConnectPostgres(ctx context.Context, address string) (*Store, error) {
	return openPostgresWith(ctx, address, defaultTimeouts, nil)
}

// ConnectSQLite is ConnectPostgres for SQLite.
func ConnectSQLite(ctx context.Context, path string) (*Store, error) {
	return openSQLiteWith(ctx, path, nil)
}

// KnownMigrations returns the migrations of this version, by name.
func KnownMigrations() []string {
	entries, _ := migrations.ReadDir("migrations") // embedded: it is there
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.Sort(all)
	return all
}

// AppliedMigrations returns the names of the migrations that a schema has.
func AppliedMigrations(ctx context.Context, q Queries) ([]string, error) {
	return Collect(ctx, q, "read the migrations", func(row *sql.Rows) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	}, `SELECT name FROM migration WHERE set_name = 'store' ORDER BY name`)
}
