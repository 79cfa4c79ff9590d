package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/queue"
	programs "github.com/spool-video/spool/internal/engine/speech"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/replace"
	"github.com/spool-video/spool/internal/service/sound"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/video"
)

// Services are the parts of the service that a worker calls.
type Services struct {
	Tasks   *pipeline.Tasks
	Files   *pipeline.Files
	Cleaner *janitor.Cleaner
	Replace *replace.Service
	Sound   *sound.Service
	Speech  *speech.Service

	Programs *programs.Programs // nil: there are none
}

// Worker runs tasks. Handle is its queue.Handler.
type Worker struct {
	Services
	engine  Engine
	scratch string
	log     *slog.Logger
	metrics *metrics.Metrics
}

// New returns a Worker that works in folders below scratch, an absolute path, because ffmpeg runs in
// those folders. What lies there already was left by a dead process and is removed.
func New(s Services, engine Engine, scratch string, log *slog.Logger, m *metrics.Metrics) (*Worker, error) {
	if err := os.RemoveAll(scratch); err != nil {
		return nil, fmt.Errorf("clear scratch folder: %w", err)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	return &Worker{Services: s, engine: engine, scratch: scratch, log: log, metrics: m}, nil
}

// Handle does one task.
func (w *Worker) Handle(ctx context.Context, t queue.Task) error {
	if t.Attempt > 1 {
		w.metrics.TaskRetried(t.Kind)
	}
	began := time.Now()
	v, wanted, err := w.Tasks.LoadTask(ctx, t)
	outcome := queue.OutcomeFailed
	switch {
	case err != nil:
	case !wanted:
		outcome = queue.OutcomeCancelled
	default:
		outcome = queue.OutcomeDone
		if err = w.run(ctx, t, v); err != nil {
			outcome, err = w.failed(ctx, t, err)
		}
	}
	took := time.Since(began)
	w.metrics.TaskDone(t.Kind, outcome, took)
	w.log.DebugContext(ctx, "task ended", "task", t.String(), "attempt", t.Attempt, "outcome", outcome, "took", took)
	return err
}

// run does the work of a task. A panic is treated as a fault of the file: what makes the code panic
// once will do so again.
func (w *Worker) run(ctx context.Context, t queue.Task, v video.Video) error {
	err := panics.Catch(func() error { return w.dispatch(ctx, t, v) })
	if p, ok := err.(*panics.Error); ok { // not one of another goroutine, which a back end returned as its error
		w.log.ErrorContext(ctx, "a task panicked", "task", t.String(), "panic", p.Value, "stack", string(p.Stack))
		return conversion(p)
	}
	return err
}

// dispatch calls the handler of a task, in a folder of its own if it needs one.
func (w *Worker) dispatch(ctx context.Context, t queue.Task, v video.Video) error {
	handle, ok := handlers[t.Kind]
	if !ok {
		return fmt.Errorf("no such kind of task: %s", t.Kind)
	}
	if !pipeline.KindOf(t.Kind).UsesDisk() {
		return handle(w, ctx, t, v, "")
	}
	dir, err := w.makeFolder(ctx, t, v)
	if err != nil {
		return err
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			w.log.WarnContext(ctx, "could not clear scratch folder", "err", err)
		}
	}()
	err = handle(w, ctx, t, v, dir)
	if _, gone := os.Stat(dir); err != nil && gone != nil {
		return scratchError{fmt.Errorf("the folder of the task was removed: %w (%v)", gone, err)}
	}
	return err
}

// makeFolder makes a folder for a task, if there is enough space for its work. Somebody may have
// cleared up meanwhile, so the folder around it is made, too.
func (w *Worker) makeFolder(ctx context.Context, t queue.Task, v video.Video) (string, error) {
	if err := os.MkdirAll(w.scratch, 0o700); err != nil {
		return "", scratchError{err}
	}
	free, err := diskspace.Free(w.scratch)
	if err != nil {
		return "", scratchError{err}
	}
	if err := w.Tasks.CheckSpace(ctx, t, v, free); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(w.scratch, string(t.Kind)+"-")
	if err != nil {
		return "", scratchError{fmt.Errorf("make scratch folder: %w", err)}
	}
	return dir, nil
}

// purge removes what a video does not need any more.
func (w *Worker) purge(ctx context.Context, t queue.Task, _ video.Video, _ string) error {
	return w.Cleaner.Purge(ctx, t.Video)
}

func (w *Worker) replace(ctx context.Context, t queue.Task, _ video.Video, _ string) error {
	return w.Replace.Replace(ctx, t.Video)
}

// failed decides what follows from a task's error. It returns the error for the queue: nil when the
// task is over, however it went.
func (w *Worker) failed(ctx context.Context, t queue.Task, err error) (queue.Outcome, error) {
	switch {
	case errors.Is(context.Cause(ctx), queue.ErrStopping):
		return queue.OutcomeStopped, queue.ErrStopping
	case ctx.Err() != nil, errors.Is(err, queue.ErrCancelled): // the latter from the heartbeat
		return queue.OutcomeCancelled, nil
	}
	failure, final := errors.AsType[*video.Failure](err)
	if !final && transient(err) {
		return queue.OutcomeFailed, unhealthy(t, err) // the queue logs it and retries
	}
	if !final {
		giveUp, countErr := w.Tasks.CountFailure(ctx, t, maxAttempts(err))
		if countErr != nil || !giveUp {
			return queue.OutcomeFailed, errors.Join(err, countErr)
		}
		failure = explain(err)
	}
	w.log.InfoContext(ctx, "task given up", "task", t.String(), "code", failure.Code, "err", err)
	return queue.OutcomeGivenUp, w.Tasks.GiveUp(ctx, t, failure)
}

// unhealthy marks an error as one of this machine, which then takes no task for a while. After a task
// of spare time the machine goes on: such a task may need more than others, for example space for a whole film,
// and its own pause before the next attempt is enough.
func unhealthy(t queue.Task, err error) error {
	if t.Priority >= queue.Spare {
		return err
	}
	return fmt.Errorf("%w: %w", queue.ErrWorkerUnhealthy, err)
}
