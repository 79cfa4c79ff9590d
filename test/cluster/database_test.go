package cluster

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// ask asks the database something that has one answer. The database may be away:
// then it reports false.
func ask[T any](f *fleet, question string, args ...any) (answer T, ok bool) {
	conn, err := pgx.Connect(f.t.Context(), f.db)
	if err != nil {
		return answer, false
	}
	defer conn.Close(context.WithoutCancel(f.t.Context()))
	err = conn.QueryRow(f.t.Context(), question, args...).Scan(&answer)
	return answer, err == nil
}

// count asks the database, which must be there, for a number.
func (f *fleet) count(question string, args ...any) int {
	f.t.Helper()
	n, ok := ask[int](f, question, args...)
	if !ok {
		f.t.Fatalf("the database does not answer: %s", question)
	}
	return n
}

// exec executes a statement, as an operator would.
func (f *fleet) exec(statement string, args ...any) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(f.t.Context()))
	if _, err := conn.Exec(f.t.Context(), statement, args...); err != nil {
		f.t.Fatalf("%s: %v", statement, err)
	}
}

// killPostgres ends the server's processes without asking any of them.
func (f *fleet) killPostgres() {
	f.t.Helper()
	address, err := url.Parse(f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(address.Query().Get("host"), "data", "postmaster.pid"))
	if err != nil {
		f.t.Fatalf("find the database server: %v", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	main, err := strconv.Atoi(first)
	if err != nil {
		f.t.Fatalf("find the database server: %v", err)
	}
	for _, pid := range descendants(main) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // some may have ended meanwhile
	}
	f.postgres.Crash() // nothing is left to crash; it notes the end
}

// note has the database write down when tasks change their state; one that has
// ended is "gone".
func (f *fleet) note() {
	f.t.Helper()
	f.exec(`
		CREATE TABLE test_event (at timestamptz NOT NULL DEFAULT clock_timestamp(), task text NOT NULL, state text NOT NULL);
		CREATE FUNCTION test_note() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE job river_job := NEW;
		BEGIN
			INSERT INTO test_event (task, state)
			VALUES (concat_ws('/', job.args->>'kind', job.args->>'video', job.args->>'number'),
			        CASE WHEN job.finalized_at IS NOT NULL THEN 'gone' ELSE job.state::text END);
			RETURN NULL;
		END $$;
		CREATE TRIGGER test_inserted AFTER INSERT ON river_job FOR EACH ROW EXECUTE FUNCTION test_note();
		CREATE TRIGGER test_updated AFTER UPDATE ON river_job FOR EACH ROW
			WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION test_note()`)
}

// steps counts the finished parts of a video in work.
func (f *fleet) steps(kind string) int {
	n, _ := ask[int](f, `SELECT count(*) FROM step WHERE kind = $1 AND done_at IS NOT NULL`, kind)
	return n
}
