// Package queue is the contract for work that outlives the process that asked for
// it. A task is enqueued inside the transaction that made it necessary, so there is
// never a row without its task nor a task without its row. Tasks run at least once
// and must be idempotent: a task runs again after a crash, and after its worker was
// taken for dead. What may count only once, such as the end of a step, is guarded
// in the database, or recorded together with the end of the task (Queue.Complete).
//
// queue/local runs tasks in this process on SQLite, queue/river on many machines on
// PostgreSQL, as jobs of River. Both keep track of what this process runs with
// queue/attempts, and every implementation passes queue/queuetest.
//
// # Lanes
//
// The kind of a task says on which lane it waits. A process has a number of places on
// each lane that it works on. Processes that encode work on Encode. Processes that
// answer requests work on Network and Imports: workers need neither a way to the
// internet nor any secret.
//
// # Order
//
// A task that is due waits until a place is free. Places go to the tenant that runs
// the fewest tasks; of several, to the one that was served longest ago. A tenant's own
// tasks run by Priority, smallest first, and equal ones in the order enqueued. So a
// tenant with one task waits at most for what is running, however many tasks others
// have, and a tenant alone gets all places. Nothing is interrupted for this.
//
// On the lanes to the internet, a receiver that does not answer holds its places for
// long. So places there are shared by endpoint, and Lane.Limit keeps some free.
//
// # Spare time
//
// Tasks with a Priority of Spare or more begin only when no other task of their lane
// waits. While others have to wait for them, so many are put back, the youngest first:
// a spare task gives its place up within ten seconds. Only background tasks wait until
// one of them ends.
//
// # Long tasks
//
// A download takes as long as its source likes, up to a day. So on a lane that is Long a
// tenant that runs several tasks gives places up to tenants that run none: if one of these
// has waited for a second, the youngest task of the tenant that runs the most is put back. A
// tenant with one task begins within ten seconds, as long as there are more places than
// tenants, and each tenant's oldest task is never interrupted.
//
// # Failures
//
// A task whose handler fails runs again after a pause (Backoff, or what the handler
// says with RetryAfter). It then waits for a place like any other. When a process
// stops or dies, its tasks go back and are the first to run again; the attempt does
// not count.
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
	Recode     Kind = "recode"     // one chunk, the rendition whose picture could not be copied
	Audio      Kind = "audio"      // the audio of the whole video, or a piece of it
	Thumbnails Kind = "thumbnails" // all thumbnails
	Poster     Kind = "poster"     // the picture that stands for the video
	Captions   Kind = "captions"   // the text tracks of the uploaded file
	Texts      Kind = "texts"      // what is said, written down and translated by programs of the operator
	Pictures   Kind = "pictures"   // the storyboard and the preview of a finished video
	Assemble   Kind = "assemble"   // one rendition file, from its chunk files
	AV1        Kind = "av1"        // one chunk of a ready video, all renditions in AV1
	AV1Join    Kind = "av1join"    // one rendition file in AV1, from its chunk files
	HEVC       Kind = "hevc"       // as AV1
	HEVCJoin   Kind = "hevcjoin"   // as AV1Join
	Sound      Kind = "sound"      // a sound track of a ready video, from a file that was uploaded for it
	Remix      Kind = "remix"      // the MP4 files of a ready video with another sound track
	Measure    Kind = "measure"    // compare the rendition files of a ready video with their source
	Replace    Kind = "replace"    // have a ready file replace the file of another video
	Purge      Kind = "purge"      // remove the leftovers of a finished or deleted video

	Deliver  Kind = "deliver"  // send an event to a webhook
	CleanUp  Kind = "cleanup"  // end or remove the deliveries of a webhook that was disabled or deleted
	PurgeCDN Kind = "purgecdn" // tell a CDN what it may not keep
	Import   Kind = "import"   // fetch a file from a URL
	// ImportTrack is Import of a file of which a sound track is made.
	ImportTrack Kind = "importtrack"
)

// Lane is what tasks wait on for a place.
type Lane string

const (
	EncodeLane  Lane = "encode"  // what needs processors
	NetworkLane Lane = "network" // short requests to others
	ImportLane  Lane = "import"  // long downloads
)

// Lanes lists all of them.
var Lanes = []Lane{EncodeLane, NetworkLane, ImportLane}

// Lane returns the lane of tasks of this kind.
func (k Kind) Lane() Lane {
	switch k {
	case Deliver, CleanUp, PurgeCDN:
		return NetworkLane
	case Import, ImportTrack:
		return ImportLane
	}
	return EncodeLane
}

// Limit returns how many tasks of one share (see Task.Share) may run at a time on a lane
// with so many places, of which so many are taken.
func (l Lane) Limit(places, taken int) int {
	switch l {
	case NetworkLane: // it shrinks with the free places, so that many dead endpoints leave some
		return max(1, (places-taken+15)/16)
	case ImportLane:
		return max(1, places/2)
	}
	return places
}

// Long reports whether tasks of a lane may run for hours.
func (l Lane) Long() bool { return l == ImportLane }

// LongestPause is longer than any pause between two attempts on a lane. A task that would wait longer was put
// back by a clock that has been turned back since.
func (l Lane) LongestPause() time.Duration {
	if l == EncodeLane {
		return 2 * time.Minute
	}
	return 48 * time.Hour
}

// Task is one unit of work. Kind, Video, Number and ID are its name: at most one task
// of a name waits or runs at any time.
type Task struct {
	Kind     Kind
	Video    video.ID     // empty if it belongs to none
	Number   int          // which chunk or rendition; 0 where there is only one
	ID       string       // what it is about if that is no video: a delivery, a purge
	Tenant   video.Tenant // whose task it is; empty is a tenant like any other
	Endpoint string       // where it sends something; empty if nowhere
	Priority int          // among the tasks of a share the smallest runs first, equal ones in the order enqueued
	Trace    string       // what it belongs to in a trace; the queue only keeps it
	Attempt  int          // set by the queue: 1 on the first attempt
}

func (t Task) String() string {
	if t.ID != "" {
		return fmt.Sprintf("%s/%s", t.Kind, t.ID)
	}
	return fmt.Sprintf("%s/%s/%d", t.Kind, t.Video, t.Number)
}

// Share returns the group with which the task shares places: all tasks to its endpoint,
// or, if it has none, all tasks of its tenant.
func (t Task) Share() string {
	if t.Endpoint != "" {
		return t.Endpoint
	}
	return string(t.Tenant)
}

// Name identifies a task; it is unique among the tasks that wait or run.
type Name struct {
	Kind   Kind     `json:"kind"`
	Video  video.ID `json:"video"`
	Number int      `json:"number"`
	ID     string   `json:"id"`
}

// Name returns the name of t.
func (t Task) Name() Name { return Name{t.Kind, t.Video, t.Number, t.ID} }

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
	// YieldsAfter is how long a task is due before another one is interrupted for it.
	YieldsAfter = time.Second

	// Background is the smallest Priority of tasks that no person waits for.
	Background = 100

	// Spare is the smallest Priority of tasks that run when there are no others.
	Spare = 1000
)

// Handler does the work of a task. A nil error ends the task. After any other error
// the task runs again, after a pause that grows with the attempts. A handler that
// finds the work pointless records that itself and returns nil. When ctx ends,
// context.Cause(ctx) is ErrCancelled or ErrStopping; the handler must return soon,
// and its error does not count.
type Handler func(ctx context.Context, t Task) error

// Pool is how a process works on a lane.
type Pool struct {
	Places int // how many tasks run at a time, at most
	Handle Handler
}

// Encoding is the work of a process that encodes n tasks at a time, and does nothing else.
func Encoding(n int, h Handler) map[Lane]Pool {
	return map[Lane]Pool{EncodeLane: {Places: n, Handle: h}}
}

// Queue hands tasks to handlers.
type Queue interface {
	// Enqueue adds tasks in tx. A task whose name already waits or runs is
	// skipped. They become visible to workers when tx commits.
	Enqueue(ctx context.Context, tx Tx, tasks ...Task) error

	// Cancel deletes, in tx, the waiting tasks of a video, except for the
	// kinds in keep. Once tx has committed it stops the running ones: their
	// context ends with ErrCancelled and they do not run again.
	Cancel(ctx context.Context, tx Tx, id video.ID, keep ...Kind) error

	// Names returns the names of a video's tasks that wait or run, as tx sees them.
	Names(ctx context.Context, tx Tx, id video.ID) ([]Name, error)

	// All yields every task that waits or runs, as r sees them, in the order enqueued. A copy of the
	// database elsewhere enqueues them again.
	All(ctx context.Context, r Reader) iter.Seq2[Task, error]

	// WaitIdle waits until no task of the video is running, except for the
	// kinds in keep, or until ctx ends.
	WaitIdle(ctx context.Context, id video.ID, keep ...Kind) error

	// Start begins to work on the lanes, and returns.
	Start(ctx context.Context, lanes map[Lane]Pool) error

	// Complete ends, in tx, the task whose handler got ctx: once tx has committed, the
	// task has succeeded, whatever the handler returns. It fails with ErrCancelled if
	// the task is not this attempt's any more, so that its result does not count.
	Complete(ctx context.Context, tx Tx) error

	// Stop takes no new task and ends the context of the running ones with
	// ErrStopping. It puts them back so that they run first after the next start;
	// the attempt does not count. It returns when all handlers have returned, or
	// with ctx's error when ctx ends. It may be called twice, and before Start.
	Stop(ctx context.Context) error

	// Stats counts the tasks by kind.
	Stats(ctx context.Context) (map[Kind]Stat, error)

	// Workers lists the live processes of all machines that work on EncodeLane, by
	// host and age, with their tasks on it.
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

// Worker is a process that encodes.
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

// RetryAfter returns an error with which a handler asks for its next attempt after a
// pause of its own choice. It is no news to the log: the handler says itself what is
// worth saying.
func RetryAfter(pause time.Duration, err error) error { return &retryError{pause, err} }

type retryError struct {
	pause time.Duration
	err   error
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// PauseOf returns the pause that an error asks for with RetryAfter.
func PauseOf(err error) (pause time.Duration, asked bool) {
	if e, ok := errors.AsType[*retryError](err); ok {
		return e.pause, true
	}
	return 0, false
}

// Backoff is the pause before attempt n+1 after attempt n failed. It doubles from
// half a second up to a minute, so that work resumes soon after a transient error
// and costs little while the error lasts.
func Backoff(attempt int) time.Duration {
	return min(time.Minute, 500*time.Millisecond<<min(max(attempt-1, 0), 10))
}
