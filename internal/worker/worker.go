// Package worker does what tasks ask for: it fetches the file, lets package
// media work on it in a scratch folder, and hands the result to package app. It
// also decides what a failure means: the file's fault ends the video with a
// reason, trouble of ours is tried again, and what nobody can explain is tried
// a few times.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/service/panics"
	"github.com/spool-video/spool/internal/video"
)

// Worker runs tasks. Handle is its queue.Handler.
type Worker struct {
	app     *app.App
	engine  Engine
	scratch string
	log     *slog.Logger
	observe Observer
}

const (
	// maxFaults is how often a task may fail for an unknown reason before its
	// video is given up. Trouble of ours is not counted.
	maxFaults = 3
	// maxKills is the same for runs that somebody else killed: mostly the kernel
	// of a machine that is short of memory for a while, but there may be files
	// that no machine has enough memory for.
	maxKills = 10
	// maxMisses is the same for a source or a piece that the storage does not
	// find. With the pauses between them that is half a minute: a storage that is
	// not consistent at once, or has just changed machines, may deny what it has.
	maxMisses = 7
)

// Observer is told how tasks went.
type Observer interface {
	TaskDone(k queue.Kind, o queue.Outcome, took time.Duration)
	TaskRetried(k queue.Kind)
	Encoded(film, took time.Duration)
}

// New returns a Worker that works in folders below scratch, an absolute path:
// ffmpeg runs in those folders, not in ours. What lies there already is a dead process's and is removed.
func New(a *app.App, engine Engine, scratch string, log *slog.Logger, o Observer) (*Worker, error) {
	if err := os.RemoveAll(scratch); err != nil {
		return nil, fmt.Errorf("clear scratch folder: %w", err)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	return &Worker{app: a, engine: engine, scratch: scratch, log: log, observe: o}, nil
}

// Handle does one task.
func (w *Worker) Handle(ctx context.Context, t queue.Task) error {
	if t.Attempt > 1 {
		w.observe.TaskRetried(t.Kind)
	}
	began := time.Now()
	v, wanted, err := w.app.Working(ctx, t)
	outcome := queue.OutcomeFailed
	switch {
	case err != nil:
	case !wanted:
		outcome = queue.OutcomeCancelled
	default:
		outcome = queue.OutcomeDone
		if err = w.do(ctx, t, v); err != nil {
			outcome, err = w.failed(ctx, t, err)
		}
	}
	took := time.Since(began)
	w.observe.TaskDone(t.Kind, outcome, took)
	w.log.DebugContext(ctx, "task ended", "task", t.String(), "attempt", t.Attempt, "outcome", outcome, "took", took)
	return err
}

// do does the work of a task. A panic is taken for a fault of the file: what
// makes our code fail once will do so again.
func (w *Worker) do(ctx context.Context, t queue.Task, v video.Video) (err error) {
	defer func() {
		if p := panics.Recovered(recover()); p != nil {
			w.log.ErrorContext(ctx, "a task panicked", "task", t.String(), "panic", p.Value, "stack", string(p.Stack))
			err = conversion(p)
		}
	}()
	if t.Kind == queue.Purge {
		return w.app.Purge(ctx, t.Video)
	}
	dir, err := w.workplace(ctx, t, v)
	if err != nil {
		return err
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			w.log.WarnContext(ctx, "could not clear scratch folder", "err", err)
		}
	}()
	err = w.workIn(ctx, dir, t, v)
	if _, gone := os.Stat(dir); err != nil && gone != nil {
		return scratchError{fmt.Errorf("the folder of the task went away: %w (%v)", gone, err)}
	}
	return err
}

// workplace makes a folder for a task, if there is room for its work. Somebody
// may have cleared up meanwhile, so the folder around it is made, too.
func (w *Worker) workplace(ctx context.Context, t queue.Task, v video.Video) (string, error) {
	if err := os.MkdirAll(w.scratch, 0o700); err != nil {
		return "", scratchError{err}
	}
	free, err := diskspace.Free(w.scratch)
	if err != nil {
		return "", scratchError{err}
	}
	if err := w.app.RoomFor(ctx, t, v, free); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(w.scratch, string(t.Kind)+"-")
	if err != nil {
		return "", scratchError{fmt.Errorf("make scratch folder: %w", err)}
	}
	return dir, nil
}

// workIn does the work of a task in a folder.
func (w *Worker) workIn(ctx context.Context, dir string, t queue.Task, v video.Video) error {
	switch t.Kind {
	case queue.Inspect:
		return w.inspect(ctx, t, v, dir)
	case queue.Encode:
		return w.encode(ctx, t, v, dir)
	case queue.Audio:
		return w.audio(ctx, t, v, dir)
	case queue.Thumbnails:
		return w.thumbnails(ctx, t, v, dir)
	case queue.Assemble:
		return w.assemble(ctx, t, v, dir)
	case queue.Measure:
		return w.measure(ctx, t, v, dir)
	}
	return fmt.Errorf("no such kind of task: %s", t.Kind)
}

// failed decides what follows from a task's error. It returns the error that
// the queue shall see: nil when the task is over, however it went.
func (w *Worker) failed(ctx context.Context, t queue.Task, err error) (queue.Outcome, error) {
	switch {
	case errors.Is(context.Cause(ctx), queue.ErrStopping):
		return queue.OutcomeStopped, queue.ErrStopping
	case ctx.Err() != nil, errors.Is(err, queue.ErrCancelled): // the latter from the heartbeat
		return queue.OutcomeCancelled, nil
	}
	failure, hopeless := errors.AsType[*video.Failure](err)
	if !hopeless && ours(err) {
		return queue.OutcomeFailed, fmt.Errorf("%w: %w", queue.ErrWorkerUnhealthy, err) // the queue logs it and tries again
	}
	if !hopeless {
		giveUp, countErr := w.app.Fault(ctx, t, mostFaults(err))
		if countErr != nil || !giveUp {
			return queue.OutcomeFailed, errors.Join(err, countErr)
		}
		failure = explain(err)
	}
	w.log.InfoContext(ctx, "task given up", "task", t.String(), "code", failure.Code, "err", err)
	return queue.OutcomeGivenUp, w.giveUp(ctx, t, failure)
}

// mostFaults is how often a task may fail with an error that is not ours before
// it is given up.
func mostFaults(err error) int {
	switch {
	case errors.Is(err, ffmpeg.ErrKilled):
		return maxKills
	case missing(err):
		return maxMisses
	}
	return maxFaults
}

// missing reports whether a source or a piece is gone.
func missing(err error) bool {
	return errors.Is(err, app.ErrSourceGone) || errors.Is(err, fs.ErrNotExist)
}

// giveUp ends what a task was for: the whole video, but never because of its
// sound, its thumbnails or how it compares with its source.
func (w *Worker) giveUp(ctx context.Context, t queue.Task, f *video.Failure) error {
	switch t.Kind {
	case queue.Thumbnails:
		return w.app.SkipThumbnails(ctx, t.Video)
	case queue.Audio:
		return w.app.SkipAudio(ctx, t.Video)
	case queue.Measure:
		return w.app.SkipMeasuring(ctx, t.Video)
	}
	return w.app.GiveUp(ctx, t, f)
}

// conversionError is an error of package media or mp4: the file may be to blame.
type conversionError struct{ error }

func (c conversionError) Unwrap() error { return c.error }

func conversion(err error) error {
	if err == nil {
		return nil
	}
	return conversionError{err}
}

// scratchError is trouble with the place where tasks work, whatever became of
// the file for it.
type scratchError struct{ error }

func (s scratchError) Unwrap() error { return s.error }

// ours reports whether an error is trouble of this machine or its services, so
// that the file is not to blame however often it happens.
func ours(err error) bool {
	if _, ok := errors.AsType[scratchError](err); ok {
		return true
	}
	if start, ok := errors.AsType[*fs.PathError](err); ok && start.Op == "fork/exec" {
		return true // ffmpeg is gone from this machine
	}
	if errors.Is(err, ffmpeg.ErrSandbox) {
		return true
	}
	if missing(err) {
		return false // it will not come back
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return true // a full disk, too many open files, and the like
	}
	if _, ok := errors.AsType[unreadable](err); ok {
		return true
	}
	_, converting := errors.AsType[conversionError](err)
	return !converting
}

// explain says in a sentence why a task that failed too often was given up.
func explain(err error) *video.Failure {
	switch {
	case errors.Is(err, ffmpeg.ErrStalled), errors.Is(err, ffmpeg.ErrTimeLimit):
		return video.Failf(video.LimitTime, "Converting this file made no progress for too long.")
	case errors.Is(err, ffmpeg.ErrMemory):
		return video.Failf(video.LimitMemory, "Converting this file takes more memory than a video may use.")
	case errors.Is(err, ffmpeg.ErrTooBig):
		return video.Failf(video.Corrupt, "Converting this file gave far more data than a film of its length can hold.")
	case errors.Is(err, ffmpeg.ErrCrashed):
		return video.Failf(video.Corrupt, "The file is damaged in a way that makes the converter crash.")
	case errors.Is(err, ffmpeg.ErrKilled):
		return video.Failf(video.LimitMemory, "Converting this file was stopped again and again, probably for lack of memory.")
	case errors.Is(err, app.ErrSourceGone):
		return video.Failf(video.InternalFailure, "The uploaded file is no longer in the storage.")
	}
	return video.Failf(video.InternalFailure, "Converting this file failed several times for a reason that is not known. The server's log has the details.")
}
