package local

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

const someVideo video.ID = "0198c5b6-7d5e-7c3a-9b1e-000000000001"

// rig is a queue that the tests look into, with the database beside it. Tests
// that use it run in a synctest bubble, where pauses cost no time.
type rig struct {
	*testing.T
	db  *sql.DB
	q   *Queue
	log *lines
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, db: openDB(t, filepath.Join(t.TempDir(), "spool.db")), log: &lines{}}
	r.q = New(r.db, Options{Log: slog.New(slog.NewTextHandler(r.log, nil))})
	t.Cleanup(func() {
		if err := r.q.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return r
}

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(bytes.TrimSpace(b)))
	return len(b), nil
}

// with returns the lines that contain s.
func (l *lines) with(s string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, s) {
			found = append(found, line)
		}
	}
	return found
}

func (r *rig) start(n int, h queue.Handler) {
	r.Helper()
	if err := r.q.Start(r.Context(), queue.Encoding(n, h)); err != nil {
		r.Fatal(err)
	}
}

// insert inserts a task without telling the queue.
func (r *rig) insert(state string, attempt int) {
	r.Helper()
	r.exec(`INSERT INTO task (kind, video_id, number, item, lane, tenant, endpoint, share, rank, priority, due_at, state, attempt, trace)
	        VALUES ('encode', $1, 0, '', 'encode', '', '', '', 1, 0, 0, $2, $3, '')`, someVideo, state, attempt)
}

func (r *rig) exec(query string, args ...any) {
	r.Helper()
	if _, err := r.db.ExecContext(r.Context(), query, args...); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) enqueue(tasks ...queue.Task) {
	r.Helper()
	err := inTx(r.Context(), r.db, func(tx queue.Tx) error { return r.q.Enqueue(r.Context(), tx, tasks...) })
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) cancel(id video.ID) {
	r.Helper()
	err := inTx(r.Context(), r.db, func(tx queue.Tx) error { return r.q.Cancel(r.Context(), tx, id) })
	if err != nil {
		r.Fatal(err)
	}
}

// row returns the state and the attempt of the only task; "" if there is none.
func (r *rig) row() (state string, attempt int) {
	r.Helper()
	err := r.db.QueryRowContext(r.Context(), `SELECT state, attempt FROM task`).Scan(&state, &attempt)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		r.Fatal(err)
	}
	return state, attempt
}

// breakWrites makes the database refuse one kind of statement on the table.
func (r *rig) breakWrites(statement string) {
	r.Helper()
	r.exec(`CREATE TRIGGER broken BEFORE ` + statement + ` ON task BEGIN SELECT raise(ABORT, 'the disk is on fire'); END`)
}

func (r *rig) mend() {
	r.Helper()
	r.exec(`DROP TRIGGER broken`)
}

func TestClaimIsRetriedWithoutABusyLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ran := make(chan queue.Task, 10)
		r.start(1, func(_ context.Context, t queue.Task) error { ran <- t; return nil })
		r.breakWrites("UPDATE")
		for i := range 20 { // each of them wakes the dispatcher
			r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo, Number: i})
		}
		time.Sleep(10 * time.Second)
		// Pauses of 0.5, 1, 2 and 4 s make five tries in ten seconds.
		if n := len(r.log.with("tasks cannot be claimed")); n != 5 {
			t.Errorf("%d failures in the log, want 5", n)
		}
		r.mend()
		for i := range 20 {
			if got := <-ran; got.Number != i || got.Attempt != 1 {
				t.Errorf("ran %s, attempt %d, want number %d, attempt 1", got, got.Attempt, i)
			}
		}
	})
}

func TestEndIsRecordedWhenTheDatabaseAnswersAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		broken string // the statement that fails
		result error  // of the handler
		runs   int
	}{
		{"a success is not forgotten and the task not run twice", "DELETE", nil, 1},
		{"a failure is not forgotten and the task retried", "UPDATE", errors.New("no luck"), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				begun, end := make(chan int, 10), make(chan error, 10)
				r.start(2, func(_ context.Context, t queue.Task) error { begun <- t.Attempt; return <-end })
				r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
				<-begun
				r.breakWrites(tt.broken)
				end <- tt.result
				time.Sleep(time.Minute)
				if n := len(r.log.with("cannot be recorded")); n < 20 || n > 40 {
					t.Errorf("%d failures in a minute in the log, want about 30", n)
				}
				if state, _ := r.row(); state != "running" || len(begun) != 0 {
					t.Fatalf("the task is %q and began %d times more, want it running and not begun again", state, len(begun))
				}
				r.mend()
				for attempt := 2; attempt <= tt.runs; attempt++ {
					if got := <-begun; got != attempt {
						t.Errorf("attempt %d, want %d", got, attempt)
					}
					end <- nil
				}
				time.Sleep(time.Minute)
				if state, _ := r.row(); state != "" || len(begun) != 0 {
					t.Errorf("the task is %q and began %d times more, want it gone", state, len(begun))
				}
			})
		})
	}
}

func TestStopLeavesWhatItCannotRecordToTheNextStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		begun := make(chan struct{})
		r.start(1, func(ctx context.Context, _ queue.Task) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		})
		r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
		<-begun
		r.breakWrites("UPDATE")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := r.q.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop returned %v, want the error of its context", err)
		}
		if err := r.q.Stop(t.Context()); err != nil { // nobody tries any longer
			t.Errorf("second stop: %v", err)
		}
		r.mend()
		if state, attempt := r.row(); state != "running" || attempt != 1 {
			t.Fatalf("the task is %q at attempt %d, want running at 1", state, attempt)
		}
		ran := make(chan int)
		next := &rig{T: t, db: r.db, q: New(r.db, Options{})}
		next.start(1, func(_ context.Context, t queue.Task) error { ran <- t.Attempt; return nil })
		if got := <-ran; got != 1 {
			t.Errorf("the next process runs attempt %d, want 1", got)
		}
		if err := next.q.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A claim can be written and still report an error. Nobody runs the task then.
func TestLostClaimIsSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ran := make(chan int, 1)
		r.start(1, func(_ context.Context, t queue.Task) error { ran <- t.Attempt; return nil })
		synctest.Wait()
		r.markRunning()
		time.Sleep(10 * time.Second)
		if len(ran) != 0 {
			t.Fatal("a task that is marked running was run without a reason to look for it")
		}
		r.breakWrites("UPDATE")
		r.enqueue(queue.Task{Kind: queue.Audio, Video: someVideo})
		synctest.Wait() // the claim has failed
		r.exec(`DELETE FROM task WHERE state = 'ready'`)
		r.mend()
		if got := <-ran; got != 1 {
			t.Errorf("attempt %d, want 1 again", got)
		}
	})
}

func TestTaskWithoutAWakeUpIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ran := make(chan struct{})
		r.start(1, func(context.Context, queue.Task) error { close(ran); return nil })
		synctest.Wait()
		r.insert("ready", 0)
		began := time.Now()
		<-ran
		if late := time.Since(began); late > maxSleep {
			t.Errorf("found after %v, want %v at most", late, maxSleep)
		}
	})
}

// The dispatcher runs in a goroutine of its own, where a panic would end the
// process with all its requests.
func TestPanicOfTheDispatcherIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.enqueue(queue.Task{Kind: queue.Encode, Video: someVideo})
		panics := 2
		r.q.now = func() time.Time {
			if panics--; panics >= 0 {
				panic("meant by the test")
			}
			return time.Now()
		}
		ran := make(chan struct{})
		r.start(1, func(context.Context, queue.Task) error { close(ran); return nil })
		<-ran
		if got := r.log.with("meant by the test"); len(got) != 2 || !strings.Contains(got[0], "stack=") {
			t.Errorf("logged %q, want both panics with their stacks", got)
		}
	})
}
