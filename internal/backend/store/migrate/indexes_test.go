package migrate_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// indexed adds two indexes to what makeFilm makes.
var indexed = files{"0001_film.sql": makeFilm, "0002_index.sql": `
	-- A comment; with the sign that ends statements.
	CREATE INDEX film_a ON film (id);
	CREATE INDEX film_b ON film (id)
		WHERE id > 'm';`}

const validIndexes = `SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'film'::regclass AND indisvalid ORDER BY 1`

// heldUp begins the migration that makes the indexes while a transaction that
// has written to the table is open, and waits until the build waits for it. end
// ends that transaction.
func heldUp(ctx context.Context, t *testing.T, db *sql.DB) (end func(), result <-chan error) {
	t.Helper()
	if _, err := migrate.Up(t.Context(), db, "s", files{"0001_film.sql": makeFilm}.fs()); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO film (id) VALUES ('open')`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := migrate.Up(ctx, db, "s", indexed.fs())
		done <- err
	}()
	const waits = `SELECT 'yes' FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'`
	for deadline := time.Now().Add(2 * time.Minute); len(names(t, db, waits)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the build never came to wait for the open transaction")
		}
	}
	return func() {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}, done
}

func TestPostgresIndexesDoNotHoldUpWriters(t *testing.T) {
	t.Parallel()
	db := openPostgres(t, pgtest.Fresh(t))
	end, built := heldUp(t.Context(), t, db)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{`SET lock_timeout = '2s'`, `INSERT INTO film (id) VALUES ('meanwhile')`} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s while indexes are built: %v", statement, err)
		}
	}
	end()
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	if got := names(t, db, validIndexes); !slices.Contains(got, "film_a") || !slices.Contains(got, "film_b") {
		t.Errorf("indexes %q; want film_a and film_b among them", got)
	}
}

func TestPostgresBrokenOffIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	db := openPostgres(t, pgtest.Fresh(t))
	ctx, breakOff := context.WithCancel(t.Context())
	end, built := heldUp(ctx, t, db)
	breakOff()
	if err := <-built; err == nil {
		t.Fatal("the migration ended well; it was broken off")
	}
	if got := names(t, db, validIndexes); slices.Contains(got, "film_a") {
		t.Fatalf("indexes %q; film_a was broken off", got)
	}
	end()
	if _, err := migrate.Up(t.Context(), db, "s", indexed.fs()); err != nil {
		t.Fatal(err)
	}
	if got := names(t, db, validIndexes); !slices.Contains(got, "film_a") || !slices.Contains(got, "film_b") {
		t.Errorf("indexes %q; want film_a and film_b among them", got)
	}
	if got := applied(t, db); !slices.Contains(got, "s/0002_index.sql") {
		t.Errorf("applied %q; want the file of indexes among them", got)
	}
}

// Several starters build the same indexes on a table with rows.
func TestPostgresIndexesOfManyStarters(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	var starters sync.WaitGroup
	for range 4 {
		db := openPostgres(t, address)
		starters.Go(func() {
			if _, err := migrate.Up(t.Context(), db, "s", indexed.fs()); err != nil {
				t.Error(err)
			}
		})
	}
	starters.Wait()
	if got := names(t, openPostgres(t, address), validIndexes); !slices.Contains(got, "film_b") {
		t.Errorf("indexes %q; want film_b among them", got)
	}
}
