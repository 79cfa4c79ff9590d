package local

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

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
			ran := false
			pool := queue.Pool{Places: 1, Handle: func(context.Context, queue.Task) error { ran = true; return nil }}
			id, found, err := r.q.next(t.Context(), queue.EncodeLane, pool)
			if err != nil || !found {
				t.Fatalf("choose: found %t, %v", found, err)
			}
			tt.happens(r)
			if err := r.q.begin(t.Context(), id, pool, &sync.WaitGroup{}); err != nil {
				t.Fatal(err)
			}
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
			err := r.q.Start(t.Context(), queue.Encoding(tt.n, nil))
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("start returned %v, want an error like %v", err, tt.want)
			}
		})
	}
}

// markRunning inserts a task that a dead process was running.
func (r *rig) markRunning() {
	r.Helper()
	r.insert("running", 1)
}

func TestStartMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.markRunning()
	r.breakWrites("UPDATE")
	if err := r.q.Start(t.Context(), queue.Encoding(1, nil)); err == nil {
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
			if pause < want*8/10 || pause > want*12/10+2*time.Millisecond {
				t.Errorf("pause after failure %d was %v, want %v ± 20 %%", failures, pause, want)
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
	<-ran
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

// Choosing happens for every task, so it must not read or sort the whole table, but only look at one task of
// each share.
func TestChoosingUsesItsIndex(t *testing.T) {
	t.Parallel()
	text := newRig(t).plan(headsSQL, queue.EncodeLane, "[]")
	for _, index := range []string{
		"SEARCH task USING COVERING INDEX task_ready (lane=?)", "SEARCH task USING COVERING INDEX task_ready (lane=? AND share>?)",
		"SEARCH own USING INDEX task_ready (lane=? AND share=?)",
	} {
		if !strings.Contains(text, index) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("plan:\n%s\nwant it to %s and to sort nothing", text, index)
		}
	}
}

// A task of spare time gives its place up for others, the youngest first, and no more of them than others wait.
func TestSpareTasksYield(t *testing.T) {
	t.Parallel()
	spare := func(number int) queue.Task {
		return queue.Task{Kind: queue.AV1, Video: someVideo, Number: number, Priority: queue.Spare}
	}
	for _, tt := range []struct {
		name  string
		waits queue.Task
		after time.Duration
		want  []int // of the three that run
	}{
		{"for a task that has waited", queue.Task{Kind: queue.Encode, Video: someVideo}, queue.YieldsAfter, []int{2}},
		{"not for one that came a moment ago", queue.Task{Kind: queue.Encode, Video: someVideo}, queue.YieldsAfter / 2, nil},
		{"not for one in the background", queue.Task{Kind: queue.Measure, Video: someVideo, Priority: queue.Background}, time.Hour, nil},
		{"not for another of spare time", spare(9), time.Hour, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				ended := make(chan int, 10)
				r.start(3, func(ctx context.Context, t queue.Task) error {
					if t.Priority < queue.Spare {
						return nil
					}
					<-ctx.Done()
					ended <- t.Number
					return ctx.Err()
				})
				r.enqueue(spare(0), spare(1), spare(2))
				synctest.Wait()
				r.enqueue(tt.waits)
				if _, err := r.q.yieldSpare(t.Context(), queue.EncodeLane, r.q.now().Add(tt.after)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var got []int
				for len(ended) > 0 {
					got = append(got, <-ended)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%v ended, want %v", got, tt.want)
				}
			})
		})
	}
}
