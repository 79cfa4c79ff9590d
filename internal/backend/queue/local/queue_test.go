package local

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
	"github.com/spool-video/spool/internal/video"
)

// claimOne claims a task as the dispatcher does, and stops short of running it.
func (r *rig) claimOne() claimed {
	r.Helper()
	c, found, err := r.q.claim(r.Context(), r.q.now(), nil)
	if err != nil || !found {
		r.Fatalf("claim: found %t, %v", found, err)
	}
	return c
}

func TestWhatHappensBetweenClaimAndRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		happens func(*rig)
		state   string // of the row afterwards
	}{
		{"a cancelled task is never begun", func(r *rig) { r.cancel(someVideo) }, ""},
		{"a stopped queue hands the task back unbegun", func(r *rig) { _ = r.q.Stop(r.Context()) }, "ready"},
		{"a cancel that ends another attempt leaves this one alone", func(r *rig) { r.q.cancelAttempts([]int64{1000}) }, "ran"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
			c := r.claimOne()
			tt.happens(r)
			ran := false
			r.q.begin(t.Context(), c, func(context.Context, queue.Task) error { ran = true; return nil })
			if err := r.q.WaitIdle(t.Context(), someVideo); err != nil {
				t.Fatal(err)
			}
			state, attempt := r.row()
			if ran {
				state = "ran"
			}
			if state != tt.state || attempt != 0 {
				t.Errorf("the task is %q at attempt %d, want %q at 0", state, attempt, tt.state)
			}
			if len(r.q.cancelled) != 0 {
				t.Errorf("cancelled still holds %v", r.q.cancelled)
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(*rig)
		n       int
		want    error // nil: any
	}{
		{"no workers at all", func(*rig) {}, 0, nil},
		{"a second start", func(r *rig) { r.start(1, nil) }, 1, nil},
		{"a start after the stop", func(r *rig) { _ = r.q.Stop(r.Context()) }, 1, queue.ErrStopping},
		{"a database that does not answer", func(r *rig) { r.breakWrites("UPDATE"); r.markRunning() }, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tt.prepare(r)
			err := r.q.Start(t.Context(), tt.n, nil)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("start returned %v, want an error like %v", err, tt.want)
			}
		})
	}
}

// markRunning inserts a task that a dead process was running.
func (r *rig) markRunning() {
	r.Helper()
	r.exec(`INSERT INTO task (kind, video_id, number, priority, run_at, state, attempt, enqueued_at)
	        VALUES ('encode', $1, 0, 0, 0, 'running', 1, 0)`, someVideo)
}

func TestStartMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.markRunning()
	r.breakWrites("UPDATE")
	if err := r.q.Start(t.Context(), 1, nil); err == nil {
		t.Fatal("start succeeded on a broken database")
	}
	r.mend()
	ran := make(chan struct{})
	r.start(1, func(context.Context, queue.Task) error { close(ran); return nil })
	<-ran
}

func TestRetryComesAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.q.executor = executor.New(r.q.log, func() float64 { return 0.5 })
		begun := make(chan time.Time)
		r.start(1, func(_ context.Context, t queue.Task) error {
			begun <- time.Now()
			if t.Attempt == 10 {
				return nil
			}
			return errors.New("no luck")
		})
		r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
		last := <-begun
		for failures := 1; failures < 10; failures++ {
			now := <-begun
			pause, want := now.Sub(last), queue.Backoff(failures)
			if pause < want || pause > want+2*time.Millisecond {
				t.Errorf("pause after failure %d was %v, want %v", failures, pause, want)
			}
			last = now
		}
	})
}

func TestClockSetBackDelaysNoNewTask(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
	r.q.now = func() time.Time { return time.Now().Add(-time.Hour) }
	stats, err := r.q.Stats(t.Context())
	if err != nil || stats[queue.Encode] != (queue.Stat{Waiting: 1}) {
		t.Errorf("stats %+v, %v; want one waiting task, due since now", stats, err)
	}
	ran := make(chan queue.Task)
	r.start(1, func(_ context.Context, t queue.Task) error { ran <- t; return nil })
	if got := <-ran; !got.RunAt.IsZero() {
		t.Errorf("run at %v, want zero as it was enqueued", got.RunAt)
	}
}

// plan returns how SQLite runs a statement.
func (r *rig) plan(query string, args ...any) string {
	r.Helper()
	rows, err := r.db.QueryContext(r.Context(), `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			r.Fatal(err)
		}
		plan = append(plan, detail)
	}
	return strings.Join(plan, "\n")
}

// Claiming happens for every task, so it must not read or sort the whole table, but
// only look at one task of each tenant.
func TestClaimUsesItsIndex(t *testing.T) {
	t.Parallel()
	text := newRig(t).plan(claimSQL, 0, "[]", queue.Spare)
	for _, index := range []string{
		"SCAN task USING COVERING INDEX task_last", "SEARCH task USING COVERING INDEX task_last (tenant>?)",
		"SEARCH own USING INDEX task_last (tenant=?)", "SEARCH task USING INDEX task_urgent (tenant=?)",
	} {
		// Sorted are the running tasks, and one row for each tenant.
		if !strings.Contains(text, index) || strings.Count(text, "TEMP B-TREE") != 2 {
			t.Errorf("plan:\n%s\nwant it to %s and to sort no tasks that wait", text, index)
		}
	}
}

// While tasks of spare time run, others are counted every second.
func TestCountingDueTasksUsesItsIndex(t *testing.T) {
	t.Parallel()
	text := newRig(t).plan(dueSQL, 0, queue.Background, 1)
	if !strings.Contains(text, "SEARCH task USING INDEX task_urgent (tenant=? AND priority<?)") {
		t.Errorf("plan:\n%s\nwant it to skip tasks of spare time in the index", text)
	}
}

func TestWhoeverWaits(t *testing.T) {
	t.Parallel()
	task := func(tenant video.Tenant, number, priority int) queue.Task {
		return queue.Task{Kind: queue.Encode, Video: someVideo, Number: number, Tenant: tenant, Priority: priority}
	}
	late := time.Hour
	for _, tt := range []struct {
		name  string
		runs  []queue.Task
		waits queue.Task
		after time.Duration
		want  bool
	}{
		{"another tenant", []queue.Task{task("a", 0, 0), task("a", 1, 0)}, task("b", 2, 0), late, true},
		{"another tenant, not for long", []queue.Task{task("a", 0, 0), task("a", 1, 0)}, task("b", 2, 0), queue.PreemptAfter / 2, false},
		{"another tenant, in the background", []queue.Task{task("a", 0, 0), task("a", 1, 0)}, task("b", 2, queue.Background), late, false},
		{"no tenant", []queue.Task{task("a", 0, 0), task("a", 1, 0)}, task("", 2, 0), late, false},
		{"the same tenant", []queue.Task{task("a", 0, 0), task("a", 1, 0)}, task("a", 2, 0), late, false},
		{"a tenant that runs something", []queue.Task{task("a", 0, 0), task("a", 1, 0), task("b", 3, 0)}, task("b", 2, 0), late, false},
		{"the same tenant, for a task of spare time", []queue.Task{task("b", 0, 0), task("\x01a", 1, queue.Spare)}, task("b", 2, 0), queue.PreemptSpareAfter, true},
		{"a task for one of spare time, a moment", []queue.Task{task("\x01a", 1, queue.Spare)}, task("a", 2, 0), queue.PreemptSpareAfter / 2, false},
		{"a background task, for one of spare time", []queue.Task{task("\x01a", 1, queue.Spare)}, task("b", 2, queue.Background), late, false},
		{"a task of spare time, for another", []queue.Task{task("\x01a", 1, queue.Spare)}, task("\x01b", 2, queue.Spare), late, false},
		{"another tenant, for the only task of each", []queue.Task{task("a", 0, 0), task("c", 1, 0)}, task("b", 2, 0), late, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.enqueue(tt.runs...)
			interrupted := make(chan bool, len(tt.runs))
			begun, release := make(chan struct{}), make(chan struct{})
			for range tt.runs {
				r.q.begin(t.Context(), r.claimOne(), func(ctx context.Context, _ queue.Task) error {
					begun <- struct{}{}
					select {
					case <-ctx.Done():
						interrupted <- true
					case <-release:
						interrupted <- false
					}
					return nil
				})
				<-begun
			}
			r.enqueue(tt.waits)
			if err := r.q.preempt(t.Context(), r.q.now().Add(tt.after)); err != nil {
				t.Fatal(err)
			}
			var first bool
			if tt.want {
				first = <-interrupted
			}
			close(release)
			r.q.workers.Wait()
			close(interrupted)
			for i := range interrupted {
				first = first || i
			}
			if first != tt.want {
				t.Errorf("a task was interrupted: %t; want %t", first, tt.want)
			}
		})
	}
}
