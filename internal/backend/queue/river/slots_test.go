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
	here := time.Now()
	for _, skew := range []time.Duration{0, 7 * time.Minute, -7 * time.Minute} {
		d := &allocator{skew: skew, now: here.Add(skew), last: map[video.Tenant]time.Time{}}
		later := d.job(queue.Task{RunAt: here.Add(time.Minute)}, time.Time{}, 1, false)
		if got := later.InsertOpts.ScheduledAt.Sub(d.now); got != time.Minute {
			t.Errorf("with a database %v ahead a task in a minute is due in %v", skew, got)
		}
		past := d.job(queue.Task{RunAt: here.Add(-time.Second)}, time.Unix(1, 0), 1, false)
		if got := past.InsertOpts.ScheduledAt; !got.Equal(time.Unix(1, 0)) {
			t.Errorf("with a database %v ahead a task of the past is due at %v, want its slot", skew, got)
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
	const head = `SELECT id FROM river_job WHERE state = 'available' AND queue = 'spool'
		AND scheduled_at <= now() ORDER BY priority, scheduled_at, id LIMIT 4 FOR UPDATE SKIP LOCKED` // as River has it
	for _, tt := range []struct {
		name, statement string
		args            []any
		indexes         []string
		sorts           int
	}{
		{"fetch", head, nil, []string{"river_job_prioritized_fetching_index"}, 0},
		{"slots", lastSlotsSQL, []any{[]string{"a", "b"}}, []string{"river_job_prioritized_fetching_index", "queue_task_turn"}, 0},
		{"choose", chooseSQL, []any{1}, []string{"queue_task_urgent", "queue_task_turn"}, 1}, // of tenants
	} {
		plan := explain(t, st, tt.statement, tt.args...)
		for _, index := range tt.indexes {
			if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") || strings.Count(plan, "Sort  (") != tt.sorts {
				t.Errorf("%s:\n%s\nwant it to use %s and to sort no tasks", tt.name, plan, index)
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
