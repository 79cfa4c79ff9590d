package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// starterVariable makes this test binary a starter that takes for ever, on the
// database it names.
const starterVariable = "SPOOL_TEST_SLOW_STARTER"

// endless changes something, and then does not come to its end.
var endless = files{"0001_film.sql": makeFilm, "0002_slow.sql": `CREATE TABLE half (id TEXT); SELECT pg_sleep(600);`}

func TestMain(m *testing.M) {
	if address := os.Getenv(starterVariable); address != "" {
		db, err := sql.Open("pgx", address)
		if err == nil {
			_, err = migrate.Up(context.Background(), db, "s", endless.fs())
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(pgtest.Run(m))
}

func openPostgres(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func postgresTables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return names(t, db, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration' ORDER BY tablename`)
}

func TestPostgresConcurrentStarters(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	set := files{}
	for i := range 5 {
		set[fmt.Sprintf("%04d.sql", i)] = fmt.Sprintf(`CREATE TABLE t%d (id TEXT); INSERT INTO t%d VALUES ('once');`, i, i)
	}
	const starters = 4
	errs := make([]error, starters)
	var wg sync.WaitGroup
	for i := range starters {
		db := openPostgres(t, address)
		wg.Go(func() { _, errs[i] = migrate.Up(t.Context(), db, "s", set.fs()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	db := openPostgres(t, address)
	if got := applied(t, db); len(got) != len(set) {
		t.Errorf("applied %q, want %d files", got, len(set))
	}
	for _, table := range postgresTables(t, db) {
		if got := names(t, db, `SELECT id FROM `+table); len(got) != 1 {
			t.Errorf("%s was filled %d times, want once", table, len(got))
		}
	}
}

func TestPostgresFailingMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	db := openPostgres(t, pgtest.Fresh(t))
	broken := files{
		"0001_film.sql": makeFilm,
		"0002_bad.sql":  `CREATE TABLE half (id TEXT); INSERT INTO half VALUES ('x'); INSERT INTO nowhere VALUES (1);`,
	}
	_, err := migrate.Up(t.Context(), db, "s", broken.fs())
	if err == nil || !strings.Contains(err.Error(), "s/0002_bad.sql") {
		t.Fatalf("error %v, want one that names s/0002_bad.sql", err)
	}
	if got, want := postgresTables(t, db), []string{"film"}; !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
}

// A starter is killed in the middle of a migration, while another one waits for
// it. Nothing half done stays, and the other goes on.
func TestPostgresKilledStarter(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	starter := exec.CommandContext(t.Context(), self)
	starter.Env = append(os.Environ(), starterVariable+"="+address)
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	db := openPostgres(t, address)
	const asleep = `SELECT 'yes' FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
	for deadline := time.Now().Add(2 * time.Minute); len(names(t, db, asleep)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the starter never came to its migration")
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := migrate.Up(t.Context(), db, "s", files{"0001_film.sql": makeFilm, "0002_slow.sql": growFilm}.fs())
		done <- err
	}()
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // killed
	// PostgreSQL notices that its client is gone when the statement ends.
	pgtest.Exec(t, address, `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, want := postgresTables(t, db), []string{"film", "reel"}; !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
}
