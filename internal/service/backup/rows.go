package backup

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/migrate"
)

// identities reads the id of a database, which it has since it was first used.
const identities = `SELECT id FROM database_identity`

// Restoring reports whether a restore or a migration into this database has begun and not ended.
func Restoring(ctx context.Context, s *store.Store) (is bool, err error) {
	var n int
	err = s.QueryRow(ctx, `SELECT count(*) FROM restore_in_progress`).Scan(&n)
	return n > 0, store.Wrap("look for an unfinished restore", err)
}

// beginRestore marks a new database as being filled and gives it its id, in one transaction: a database
// with an id and without a mark is in use.
func beginRestore(ctx context.Context, s *store.Store, id string, now time.Time) error {
	return s.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "identify the database", `
			INSERT INTO database_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, id); err != nil {
			return err
		}
		ids, err := texts(ctx, tx.Queries, "read the identity", identities)
		if err != nil {
			return err
		}
		if !slices.Equal(ids, []string{id}) {
			return errors.New("another process has begun to use this database")
		}
		_, err = tx.Exec(ctx, "begin to restore", `
			INSERT INTO restore_in_progress (one, begun_at) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, store.Millis(now))
		return err
	})
}

// endRestore lets the database be used when tx has committed.
func endRestore(ctx context.Context, tx *store.Tx) error {
	_, err := tx.Exec(ctx, "end the restore", `DELETE FROM restore_in_progress`)
	return err
}

// Found describes the database that a restore would fill.
type Found struct {
	Used       bool   // it has the tables of Spool
	Unfinished bool   // by a restore that did not end; DropTables removes what it left
	ID         string // its id, if that is so; "": the restore ended before it stored anything
}

// Examine looks at a database before anything is changed in it. Tables without a row and
// without an id, which a server gives its database when it starts, are what a restore leaves that was
// killed while it made them.
func Examine(ctx context.Context, s *store.Store) (found Found, err error) {
	tables, err := (schema{s.Queries, s.SingleWriter()}).tables(ctx)
	if err != nil {
		return found, err
	}
	if found.Used = slices.Contains(tables, "migration"); !found.Used {
		return found, nil
	}
	applied, err := store.AppliedMigrations(ctx, s.Queries)
	if err != nil {
		return found, err
	}
	if len(applied) > 0 && !slices.Contains(applied, store.KnownMigrations()[0]) {
		return found, migrate.ErrUnreleased
	}
	var ids []string
	if slices.Contains(tables, "database_identity") {
		if ids, err = texts(ctx, s.Queries, "read the identity", identities); err != nil {
			return found, err
		}
	}
	if len(ids) == 0 {
		found.Unfinished, err = allEmpty(ctx, s.Queries, tables)
		return found, err
	}
	if !slices.Contains(tables, "restore_in_progress") {
		return found, nil
	}
	if found.Unfinished, err = Restoring(ctx, s); found.Unfinished {
		found.ID = ids[0]
	}
	return found, err
}

// allEmpty reports whether none of the existing tables of backedUp has a row.
func allEmpty(ctx context.Context, q store.Queries, there []string) (bool, error) {
	for _, table := range backedUp {
		if !slices.Contains(there, table) {
			continue
		}
		var has bool
		if err := q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+table+`)`).Scan(&has); err != nil || has {
			return false, store.Wrap("look for rows", err)
		}
	}
	return true, nil
}

// markTables are what DropTables leaves: the tables that say whose an unfinished restore is, and the table of
// migrations, which other sets use, too.
var markTables = []string{"migration", "database_identity", "restore_in_progress"}

// DropTables removes the tables of an unfinished restore, so that it can begin again. The database stays
// marked as unfinished, with its id: a process that is killed meanwhile leaves what it found.
func DropTables(ctx context.Context, s *store.Store) error {
	tables, forget := slices.Concat(backedUp, slices.Collect(maps.Keys(notBackedUp))), `DELETE FROM migration WHERE set_name = 'store'`
	if s.SingleWriter() { // its file has nothing but the tables of Spool and of its queue
		var err error
		if tables, err = (schema{s.Queries, true}).tables(ctx); err != nil {
			return err
		}
		tables = append(tables, textIndex)
		forget = `DELETE FROM migration`
	}
	tables = slices.DeleteFunc(tables, func(name string) bool { return slices.Contains(markTables, name) })
	// A table is dropped after the tables that refer to it.
	slices.SortStableFunc(tables, func(a, b string) int { return dropOrder(a) - dropOrder(b) })
	return s.InTx(ctx, func(tx *store.Tx) error {
		for _, name := range tables {
			if _, err := tx.Exec(ctx, "drop tables", `DROP TABLE IF EXISTS "`+name+`"`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "forget migrations", forget)
		return err
	})
}

// dropOrder returns when a table is dropped: first those that are not backed up, which may refer to the others.
func dropOrder(table string) int {
	if i := slices.Index(backedUp, table); i >= 0 {
		return len(backedUp) - i
	}
	return 0
}

// adaptRows adapts the rows of a backup to their new place. Uploads that were not completed have to be
// sent again: their bytes are not in a backup.
func adaptRows(ctx context.Context, tx *store.Tx) error {
	if _, err := tx.Exec(ctx, "forget unfinished uploads", `
		UPDATE video SET source_size = NULL, size_bytes = size_bytes - source_size WHERE completed_at IS NULL AND source_size IS NOT NULL`); err != nil {
		return err
	}
	return tx.RecountTenants(ctx)
}
