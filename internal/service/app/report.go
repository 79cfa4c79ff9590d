package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Report is all that is known about the work on a video. What was found in the
// file, and what was decided, follows from the video's plan.
type Report struct {
	Video video.Video
	Cost  video.Cost
	Runs  []video.Execution // in the order they ended; of very many, not all
}

// Report returns what became of a video's file, and why. It works for public
// and private videos, in every state.
func (a *App) Report(ctx context.Context, by Actor, id video.ID) (Report, error) {
	v, err := a.visible(ctx, by, Read, id)
	if err != nil {
		return Report{}, err
	}
	if v, err = a.store.VideoWithPlan(ctx, id); err != nil {
		return Report{}, err
	}
	r := Report{Video: v}
	if r.Cost, err = a.store.Cost(ctx, id); err != nil {
		return Report{}, err
	}
	r.Runs, err = a.store.Executions(ctx, id)
	return r, err
}

// How many runs of a video are kept. The chunks of a long film are all alike, so
// room is left for runs that tell more: those that went wrong, and the
// comparisons at the end.
const (
	keptRuns    = 400
	keptTelling = 500 // together with the others
)

// RecordRun keeps what a child process of a task did and cost. When it began is
// told by the clock of the machine that it ran on.
func (a *App) RecordRun(ctx context.Context, t queue.Task, r video.Execution) error {
	r.Task, r.Number, r.Attempt = string(t.Kind), t.Number, t.Attempt
	if a.clock != nil {
		r.StartedAt = a.clock.At(r.StartedAt)
	}
	most := keptRuns
	if r.Result != video.ExecutionOK || t.Kind == queue.Measure {
		most = keptTelling
	}
	return a.ifWanted(ctx, t.Video, func(tx *store.Tx) error {
		return tx.AddExecution(ctx, t.Video, r, most)
	})
}

// measureIfReady queues the comparison of a ready video's films with their
// source. Its open step keeps the source until it is done.
func (a *App) measureIfReady(ctx context.Context, tx *store.Tx, id video.ID) error {
	if !a.cfg.MeasureQuality {
		return nil
	}
	v, err := tx.Video(ctx, id)
	if err != nil || v.Status != video.Ready || v.Plan == nil || len(v.Plan.Samples) == 0 {
		return err
	}
	if err := tx.InsertSteps(ctx, id, []store.Step{{Kind: string(queue.Measure)}}); err != nil {
		return err
	}
	return a.queue.Enqueue(ctx, tx, queue.Task{Kind: queue.Measure, Video: id, Tenant: v.Tenant, Priority: measurePriority})
}

// FilmFile is a published film as a local file.
type FilmFile struct {
	Rendition int
	Path      string
}

// FetchFilms makes the films of a video available in a local folder, one for
// each rendition that still has a resolution and was not measured in an earlier
// round, in the order of renditions.
func (a *App) FetchFilms(ctx context.Context, v video.Video, dir string) ([]FilmFile, error) {
	var films []FilmFile
	for i, rendition := range v.Plan.Renditions {
		for _, name := range rendition.Names {
			if r, ok := v.Resolution(name); !ok || r.Status != video.Ready || r.Quality != nil {
				continue
			}
			path := filepath.Join(dir, filmFile(name))
			err := a.blobs.Fetch(ctx, playFolder(v)+filmFile(name), "", path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			}
			if err != nil {
				return nil, storageError(fmt.Sprintf("fetch film %s", name), err)
			}
			films = append(films, FilmFile{Rendition: i, Path: path})
			break
		}
	}
	return films, nil
}

// Measured stores how much the films of a video look like their source, by
// rendition, and lets go of the source if it was kept for that alone.
func (a *App) Measured(ctx context.Context, id video.ID, found map[int]video.QualityScore) error {
	return a.ifWanted(ctx, id, func(tx *store.Tx) error {
		if done, err := tx.FinishStep(ctx, id, string(queue.Measure), 0, 0, a.now()); err != nil || !done {
			return err
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		for _, r := range v.Resolutions {
			l, ok := found[v.Plan.RenditionOf(r.Name)]
			if !ok || r.Status != video.Ready {
				continue
			}
			if err := tx.SetQualityScore(ctx, r.ID, l); err != nil {
				return err
			}
		}
		if err := tx.DropSteps(ctx, id); err != nil || a.cfg.KeepSource {
			return err
		}
		return a.enqueuePurge(ctx, tx, id, afterMeasuring)
	})
}

// SkipMeasuring goes on without a comparison: nobody waits for it.
func (a *App) SkipMeasuring(ctx context.Context, id video.ID) error {
	return a.Measured(ctx, id, nil)
}
