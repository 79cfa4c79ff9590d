package river

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// A process whose clock is wrong means the same pause as one whose clock is right.
func TestRunAtIsByTheClockOfTheEnqueuer(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{0, 7 * time.Minute, -7 * time.Minute} {
		q := &Queue{time: &databaseTime{}}
		q.time.ahead.Store(int64(skew))
		later := q.job(queue.Task{RunAt: time.Now().Add(time.Minute)}).InsertOpts
		if got := later.ScheduledAt.Sub(time.Now().Add(skew)); (got-time.Minute).Abs() > time.Second || later.Priority != 4 {
			t.Errorf("with a database %v ahead a task in a minute is due in %v", skew, got)
		}
		if past := q.job(queue.Task{RunAt: time.Now().Add(-time.Second)}).InsertOpts; !past.ScheduledAt.IsZero() || past.Priority != 0 {
			t.Errorf("with a database %v ahead a task of the past is due at %v", skew, past.ScheduledAt)
		}
	}
}

// What happens for every task must not read the tasks that wait.
func TestStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := store.OpenPostgres(ctx, pgtest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	q, err := Open(ctx, st, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if q.heartbeat != 5*time.Second || q.lostAfter != 15*time.Second {
		t.Errorf("by default a worker is lost after %v with heartbeats every %v, want 15s and 5s", q.lostAfter, q.heartbeat)
	}
	fill(t, st, q, 5000)
	for _, tt := range []struct {
		name, statement string
		args            []any
		indexes         []string
	}{
		{"busy lanes", busyLanesSQL, []any{toStrings(queue.Lanes), queue.EncodeLane, time.Minute}, []string{"queue_job_waiting", "river_job_prioritized_fetching_index"}},
		{"due", dueSQL, []any{queue.EncodeLane, time.Minute}, []string{"river_job_prioritized_fetching_index"}},
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

// fill enqueues n tasks of five tenants and has PostgreSQL take notice.
func fill(t testing.TB, st *store.Store, q *Queue, n int) {
	t.Helper()
	var tasks []queue.Task
	for i := range n {
		tasks = append(tasks, queue.Task{
			Kind: queue.Encode, Video: video.ID(fmt.Sprint(i % 50)), Number: i,
			Tenant: video.Tenant("abcde"[i%5 : i%5+1]), Priority: i % 60,
		})
	}
	err := st.InTx(t.Context(), func(tx *store.Tx) error { return q.Enqueue(t.Context(), tx, tasks...) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Pool().Exec(context.WithoutCancel(t.Context()), `ANALYZE river_job`); err != nil {
		t.Fatal(err)
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
