// Package queue is the contract for work that outlives the process that asked
// for it. A task is enqueued inside the transaction that made it necessary, so
// there is never a row without its task nor a task without its row. Tasks are
// at-least-once and must be idempotent. queue/local runs them in this process
// on SQLite, queue/river on many machines on PostgreSQL; every implementation
// passes queue/queuetest.
//
// # Order
//
// Tenants take turns: each task that is enqueued gives its tenant one more turn,
// after the last one the tenant has, and at the earliest right after the turn
// that is now. So a tenant with one task waits for one task of each tenant that
// has more, however many those have. In its turn a tenant runs its most urgent
// task: the one with the smallest Priority, and of equal ones the one enqueued
// first, whichever task the turn came with. A task that was stopped, or whose
// worker died, takes the next turn. One that failed keeps its turn and takes it
// when its pause is over. Nothing is interrupted for another task's sake.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Kind is what a task does.
type Kind string

const (
	Inspect    Kind = "inspect"    // look at the uploaded file and make the plan
	Encode     Kind = "encode"     // one chunk, all renditions
	Audio      Kind = "audio"      // the sound of the whole film
	Thumbnails Kind = "thumbnails" // all still pictures
	Assemble   Kind = "assemble"   // one rendition, from its pieces
	Measure    Kind = "measure"    // compare the films of a ready video with their source
	Purge      Kind = "purge"      // remove what a finished or deleted video leaves behind
)

// Task is one piece of work. Kind, Video and Number name it: at most one task
// of a name waits or runs at any time.
type Task struct {
	Kind     Kind
	Video    video.ID
	Number   int          // which chunk or rendition; 0 where there is only one
	Tenant   video.Tenant // whose turn it takes; empty is a tenant like any other
	Priority int          // among the tenant's tasks smaller runs first, equal ones in the order enqueued
	RunAt    time.Time    // not before, by the clock of the process that enqueues; zero means now
	Attempt  int          // set by the queue: 1 on the first run
}

func (t Task) String() string { return fmt.Sprintf("%s/%s/%d", t.Kind, t.Video, t.Number) }

// Name is what only one task at a time may be called.
type Name struct {
	Kind   Kind     `json:"kind"`
	Video  video.ID `json:"video"`
	Number int      `json:"number"`
}

// Name returns the name of t.
func (t Task) Name() Name { return Name{t.Kind, t.Video, t.Number} }

// Tx is the transaction a task is enqueued in.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	// OnCommit registers f to run after a successful commit, and never otherwise.
	OnCommit(f func())
}

// Handler does the work of a task. A nil error ends the task. Any other error
// puts it back, to run again after a pause that grows with the attempts: a
// handler that finds the work pointless records that itself and returns nil.
// When ctx ends, context.Cause(ctx) is ErrCancelled or ErrStopping; the handler
// must return soon, and what it returns then does not count.
type Handler func(ctx context.Context, t Task) error

// Queue hands tasks to handlers.
type Queue interface {
	// Enqueue adds tasks in tx. A task whose name already waits or runs is
	// skipped. They become visible to workers when tx commits.
	Enqueue(ctx context.Context, tx Tx, tasks ...Task) error

	// Cancel drops, in tx, the waiting tasks of a video except those of the
	// kinds in keep, and once tx has committed stops the running ones: their
	// context ends with ErrCancelled and they do not run again.
	Cancel(ctx context.Context, tx Tx, id video.ID, keep ...Kind) error

	// Names returns the names of a video's tasks that wait or run, as tx sees
	// them.
	Names(ctx context.Context, tx Tx, id video.ID) ([]Name, error)

	// WaitIdle waits until no task of the video is running except those of the
	// kinds in keep, or until ctx ends.
	WaitIdle(ctx context.Context, id video.ID, keep ...Kind) error

	// Start begins to run tasks with h, at most n at a time, and returns.
	Start(ctx context.Context, n int, h Handler) error

	// Stop takes no new task, ends the context of the running ones with
	// ErrStopping, puts them back so that they run first after the next start
	// without having used an attempt, and returns when all handlers have. It
	// may be called twice, and before Start. When ctx ends first it returns
	// ctx's error without waiting longer.
	Stop(ctx context.Context) error

	// Stats counts the tasks by kind.
	Stats(ctx context.Context) (map[Kind]Stat, error)
}

// Stat counts the tasks of one kind.
type Stat struct {
	Waiting int           // due or not
	Running int           // in the hands of a worker
	Oldest  time.Duration // how long the oldest due task has been waiting
}

// Worker is a process that runs tasks, as the others know it.
type Worker struct {
	ID     string
	Host   string
	Slots  int           // how many tasks it runs at a time, at most
	Age    time.Duration // since it was started
	Silent time.Duration // since it last said that it is alive
	Done   int64         // tasks that it has ended since its start
	Failed int64         // attempts of its own that will be repeated
	Runs   []RunningTask // what it works on, the longest first
}

// RunningTask is a task that a worker works on.
type RunningTask struct {
	Task
	For time.Duration // since it began
}

var (
	// ErrCancelled is why a task's context ended when nobody wants its result
	// any more: it was cancelled, or its worker was thought dead and another has it.
	ErrCancelled = errors.New("task cancelled")
	// ErrWorkerUnhealthy is what a handler's error wraps when the machine is to blame, or
	// what it works with, and not the task: another worker may do better. Where
	// there are others, the worker that says so takes its next task only after a
	// pause, else it would take, and put off, what healthy ones could do.
	ErrWorkerUnhealthy = errors.New("this worker is in trouble")
	// ErrStopping is why a task's context ended when the process shuts down.
	ErrStopping = errors.New("queue is stopping")
)

// Backoff is the pause before attempt n+1 after attempt n failed: it doubles
// from half a second up to a minute, so that work goes on soon after the
// trouble has passed and costs little while it lasts.
func Backoff(attempt int) time.Duration {
	return min(time.Minute, 500*time.Millisecond<<min(max(attempt-1, 0), 10))
}
