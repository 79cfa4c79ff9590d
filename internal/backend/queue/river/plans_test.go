package river

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// What happens for every task must not read the tasks that wait.
func TestStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	st, q := openFresh(t)
	if q.heartbeat != 5*time.Second || q.lostAfter != 15*time.Second {
		t.Errorf("by default a worker is lost after %v with heartbeats every %v, want 15s and 5s", q.lostAfter, q.heartbeat)
	}
	fill(t, st, q, 10_000)
	exec(t, st, `UPDATE river_job SET priority = 4, scheduled_at = now() + interval '30 s' WHERE id % 2 = 0`)
	exec(t, st, `VACUUM ANALYZE river_job`)
	for _, tt := range []struct {
		name, statement string
		args            []any
		indexes         []string
	}{
		{"busy lanes", busyLanesSQL, []any{toStrings(queue.Lanes), queue.EncodeLane, time.Minute}, []string{"queue_job_waiting", "river_job_prioritized_fetching_index"}},
		{"due", dueSQL, []any{queue.EncodeLane, time.Minute}, []string{"river_job_prioritized_fetching_index"}},
		{"yield to others", yieldToOthersSQL, []any{queue.ImportLane, time.Second}, []string{"queue_job_waiting", "river_job_prioritized_fetching_index"}},
		{"admit", admitSQL, []any{queue.EncodeLane, 4, 4, queue.Spare}, []string{"queue_job_waiting", "queue_job_served"}},
	} {
		plan := explain(t, st, tt.statement, tt.args...)
		for _, index := range tt.indexes {
			if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s:\n%s\nwant it to use %s", tt.name, plan, index)
			}
		}
	}
}

// A task that is put back as a new job while Cancel waits for the lock of the old one is cancelled, too.
func TestCancelFindsWhatIsPutBackMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, q := openFresh(t)
	fill(t, st, q, 1)
	exec(t, st, `UPDATE river_job SET state = 'running'`)
	tx, err := st.Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if tag, err := tx.Exec(ctx, putBackSQL, 1, time.Second, true); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("put back %d tasks, %v; want one", tag.RowsAffected(), err)
	}
	cancelled := make(chan error, 1)
	go func() {
		cancelled <- st.InTx(ctx, func(tx *store.Tx) error { return q.Cancel(ctx, tx, "0") })
	}()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		err := st.Pool().QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid')`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tx.Commit(ctx), <-cancelled); err != nil {
		t.Fatal(err)
	}
	if stats, err := q.Stats(ctx); err != nil || len(stats) != 0 {
		t.Errorf("stats %+v, %v; want no task left", stats, err)
	}
}

func openFresh(t testing.TB) (*store.Store, *Queue) {
	t.Helper()
	st, err := store.OpenPostgres(t.Context(), pgtest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	q, err := Open(t.Context(), st, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return st, q
}

func exec(t testing.TB, st *store.Store, statement string) {
	t.Helper()
	if _, err := st.Pool().Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// fill enqueues n tasks of five tenants.
func fill(t testing.TB, st *store.Store, q *Queue, n int) {
	t.Helper()
	var tasks []queue.Task
	for i := range n {
		tasks = append(tasks, queue.Task{
			Kind: queue.Encode, Video: video.ID(fmt.Sprint(i % 50)), Number: i,
			Tenant: video.Tenant("abcde"[i%5 : i%5+1]), Priority: i % 60,
		})
	}
	for some := range slices.Chunk(tasks, 1000) {
		err := st.InTx(t.Context(), func(tx *store.Tx) error { return q.Enqueue(t.Context(), tx, some...) })
		if err != nil {
			t.Fatal(err)
		}
	}
}

func explain(t testing.TB, st *store.Store, statement string, args ...any) string {
	t.Helper()
	rows, err := st.Pool().Query(t.Context(), `EXPLAIN `+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
