// Package queue is the contract for work that outlives the process that asked for
// it. A task is enqueued inside the transaction that made it necessary, so there is
// never a row without its task nor a task without its row. Tasks run at least once
// and must be idempotent: a task runs again after a crash, and after its worker was
// taken for dead. What may count only once, such as the end of a step, is guarded
// in the database.
//
// queue/local runs tasks in this process on SQLite, queue/river on many machines on
// PostgreSQL. Both leave the running of handlers to queue/executor, and every
// implementation passes queue/queuetest.
//
// # Order
//
// Tenants get fair-share slots. Each task that is enqueued gives its tenant one more
// slot, after the tenant's last one, and at the earliest right after the current
// slot. So a tenant with one task waits for one task of each other tenant, however
// many tasks those have. In its slot a tenant runs its most urgent task: the one
// with the smallest Priority, and of equal ones the one enqueued first, whichever
// task the slot came with. A task that was stopped, or whose worker died, takes the
// next slot. A task that failed keeps its slot and uses it when its pause is over.
//
// # Long tasks
//
// Slots count tasks, and some tasks take a hundred times as long as others. So a
// tenant that runs fewer tasks goes before one that runs more, and slots decide
// among those that run equally many: a tenant cannot take the last free worker with
// one more long task while another tenant, which runs none, waits. If only one
// tenant has tasks, it gets all workers.
//
// It may have them all when another tenant arrives. If that one has waited for
// PreemptAfter and still runs nothing, the tenant that runs most tasks, at least two,
// gives a worker up: its youngest task goes back into the queue as if it had been
// stopped. That happens to a task once, so that everything gets done. A tenant's
// only running task is never interrupted. Background tasks are patient: nothing is
// interrupted for them, nor for tasks of no tenant.
//
// # Spare time
//
// Tasks with a Priority of Spare or more run when no other task is due, whoever they
// belong to. They have slots of their own: whoever enqueues them names SpareTenant as
// their tenant, so that a tenant with thousands of them is no later with the others.
// While they have all workers and other tasks have been due for PreemptSpareAfter, so many
// of them are put back, the youngest first, whoever they belong to and however often.
// Only background tasks wait until one of them ends.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Kind is what a task does. A queue treats all kinds alike: a new kind needs no
// change here or in an implementation.
type Kind string

const (
	Inspect    Kind = "inspect"    // probe the uploaded file and make the plan
	Encode     Kind = "encode"     // one chunk, all renditions, or the small ones of a long video
	Large      Kind = "large"      // one chunk, the other renditions
	Audio      Kind = "audio"      // the audio of the whole video, or a piece of it
	Thumbnails Kind = "thumbnails" // all thumbnails
	Poster     Kind = "poster"     // the picture that stands for the video
	Captions   Kind = "captions"   // the text tracks of the uploaded file
	Pictures   Kind = "pictures"   // the storyboard and the preview of a finished video
	Assemble   Kind = "assemble"   // one rendition file, from its chunk files
	AV1        Kind = "av1"        // one chunk of a ready video, all renditions in AV1
	AV1Join    Kind = "av1join"    // one rendition file in AV1, from its chunk files
	Measure    Kind = "measure"    // compare the rendition files of a ready video with their source
	Purge      Kind = "purge"      // remove the leftovers of a finished or deleted video
)

// Task is one unit of work. Kind, Video and Number are its name: at most one task
// of a name waits or runs at any time.
type Task struct {
	Kind     Kind
	Video    video.ID
	Number   int          // which chunk or rendition; 0 where there is only one
	Tenant   video.Tenant // whose slot it takes; empty is a tenant like any other
	Priority int          // among the tenant's tasks the smallest runs first, equal ones in the order enqueued
	RunAt    time.Time    // earliest start, by the clock of the process that enqueues; zero means now
	Trace    string       // what it belongs to in a trace, for whoever runs it; the queue only keeps it
	Attempt  int          // set by the queue: 1 on the first attempt
}

func (t Task) String() string { return fmt.Sprintf("%s/%s/%d", t.Kind, t.Video, t.Number) }

// Name identifies a task; it is unique among the tasks that wait or run.
type Name struct {
	Kind   Kind     `json:"kind"`
	Video  video.ID `json:"video"`
	Number int      `json:"number"`
}

// Name returns the name of t.
func (t Task) Name() Name { return Name{t.Kind, t.Video, t.Number} }

// Reader reads rows, as a transaction or a part of it does.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is the transaction a task is enqueued in.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	// OnCommit registers f to run after a successful commit, and never otherwise.
	OnCommit(f func())
}

const (
	// PreemptAfter is how long a tenant waits before another one's task is interrupted for it. Most tasks
	// end sooner by themselves.
	PreemptAfter = 10 * time.Second

	// PreemptSpareAfter is how long a task is due before one of spare time is interrupted for it.
	PreemptSpareAfter = time.Second

	// Background is the smallest Priority of tasks that nobody waits for.
	Background = 100

	// Spare is the smallest Priority of tasks that run when there are no others.
	Spare = 1000
)

// SpareTenant is the tenant whose slots the tasks of t take that run in spare time. No
// tenant has a name with a control character.
func SpareTenant(t video.Tenant) video.Tenant { return "\x01" + t }

// Handler does the work of a task. A nil error ends the task. After any other error
// the task runs again, after a pause that grows with the attempts. A handler that
// finds the work pointless records that itself and returns nil. When ctx ends,
// context.Cause(ctx) is ErrCancelled or ErrStopping; the handler must return soon,
// and its error does not count.
type Handler func(ctx context.Context, t Task) error

// Queue hands tasks to handlers.
type Queue interface {
	// Enqueue adds tasks in tx. A task whose name already waits or runs is
	// skipped. They become visible to workers when tx commits.
	Enqueue(ctx context.Context, tx Tx, tasks ...Task) error

	// Cancel deletes, in tx, the waiting tasks of a video except those of the
	// kinds in keep. Once tx has committed it stops the running ones: their
	// context ends with ErrCancelled and they do not run again.
	Cancel(ctx context.Context, tx Tx, id video.ID, keep ...Kind) error

	// Names returns the names of a video's tasks that wait or run, as tx sees them.
	Names(ctx context.Context, tx Tx, id video.ID) ([]Name, error)

	// All yields every task that waits or runs, as r sees them, in the order enqueued. A copy of the
	// database elsewhere enqueues them again.
	All(ctx context.Context, r Reader) iter.Seq2[Task, error]

	// WaitIdle waits until no task of the video is running except those of the
	// kinds in keep, or until ctx ends.
	WaitIdle(ctx context.Context, id video.ID, keep ...Kind) error

	// Start begins to run tasks with h, at most n at a time, and returns.
	Start(ctx context.Context, n int, h Handler) error

	// Stop takes no new task and ends the context of the running ones with
	// ErrStopping. It puts them back so that they run first after the next start;
	// the attempt does not count. It returns when all handlers have returned, or
	// with ctx's error when ctx ends. It may be called twice, and before Start.
	Stop(ctx context.Context) error

	// Stats counts the tasks by kind.
	Stats(ctx context.Context) (map[Kind]Stat, error)

	// Workers lists the live processes of all machines that run tasks of this
	// queue, by host and age. A process that has not started its queue is none.
	Workers(ctx context.Context) ([]Worker, error)
}

// About is what a process tells others about itself as a worker.
type About struct {
	Version string // of the program
	Sandbox string // how ffmpeg is confined; "" if it is not known
	Cores   int    // that it may use
}

// Stat counts the tasks of one kind.
type Stat struct {
	Waiting int           // due or not
	Running int           // at a worker
	Oldest  time.Duration // how long the oldest due task has waited
}

// Worker is a process that runs tasks.
type Worker struct {
	About
	ID      string
	Host    string
	Slots   int           // how many tasks it can run at a time
	Age     time.Duration // since its start
	Silent  time.Duration // since its last heartbeat
	Done    int64         // tasks that it has finished since its start
	Failed  int64         // attempts that failed and are repeated
	Running []RunningTask // the oldest first
}

// RunningTask is a task that a worker is running.
type RunningTask struct {
	Task
	For time.Duration // since it began
}

var (
	// ErrCancelled ends the context of a task whose result is not wanted any more:
	// it was cancelled, or its worker was taken for dead and another one has it.
	ErrCancelled = errors.New("task cancelled")
	// ErrWorkerUnhealthy is wrapped by a handler's error if the machine is to blame,
	// for example its full disk, and not the task. Where there are other workers,
	// an unhealthy one pauses before its next task: otherwise it would take, and
	// delay, tasks that healthy workers could run.
	ErrWorkerUnhealthy = errors.New("this worker is unhealthy")
	// ErrStopping ends the context of a task when the process shuts down.
	ErrStopping = errors.New("queue is stopping")
)

// Backoff is the pause before attempt n+1 after attempt n failed. It doubles from
// half a second up to a minute, so that work resumes soon after a transient error
// and costs little while the error lasts.
func Backoff(attempt int) time.Duration {
	return min(time.Minute, 500*time.Millisecond<<min(max(attempt-1, 0), 10))
}
