package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// ChunkFile is one chunk at one rendition, as a worker made it.
type ChunkFile struct {
	Rendition int
	Path      string
	Frames    int
}

// FinishChunk stores the files of a chunk. Whoever finishes the last part of a pass enqueues the
// assembly, in the same transaction.
func (t *Tasks) FinishChunk(ctx context.Context, id video.ID, chunk int, files []ChunkFile) error {
	var frames int64
	for _, f := range files {
		if _, err := t.blobs.PutFile(ctx, objects.Chunk(id, chunk, f.Rendition), f.Path); err != nil {
			return fmt.Errorf("store chunk file: %w", err)
		}
		frames = int64(f.Frames)
	}
	return t.finish(ctx, queue.Task{Kind: queue.Encode, Video: id, Number: chunk},
		result{frames: frames, made: renditionsOf(files, func(f ChunkFile) int { return f.Rendition })})
}

// FinishAudio stores the audio of a video.
func (t *Tasks) FinishAudio(ctx context.Context, id video.ID, path string) error {
	if _, err := t.blobs.PutFile(ctx, objects.Audio(id), path); err != nil {
		return fmt.Errorf("store audio: %w", err)
	}
	return t.finish(ctx, queue.Task{Kind: queue.Audio, Video: id}, result{frames: audible})
}

// audible is what the step of the audio counts as its frames when there is any audio.
const audible = 1

// finishPart records that a part of a pass is done: a chunk, the audio, or what is published beside
// the renditions, which is a part too so that a ready video has it.
func (t *Tasks) finishPart(ctx context.Context, tx *store.Tx, task queue.Task, r result) error {
	done, steps, err := t.finishStep(ctx, tx, task, r)
	if err != nil {
		return err
	}
	if !done { // another was first: nobody may need what was stored
		return t.passes.enqueuePurge(ctx, tx, task.Video, AfterPass)
	}
	if err := r.store(ctx, tx, task.Video); err != nil {
		return err
	}
	renditions, last := toAssemble(steps)
	if !last {
		return nil
	}
	v, err := tx.Video(ctx, task.Video)
	if err != nil {
		return err
	}
	if err := setWarnings(ctx, tx, v, verdict(v.Plan, steps)); err != nil {
		return err
	}
	return t.passes.queue.Enqueue(ctx, tx, assembleTasks(v, renditions)...)
}

// finishStep records that a part is done and returns all steps. It reports false when another worker
// was first, or when the part was made for an earlier pass: its worker slept through the end of that
// one.
func (t *Tasks) finishStep(ctx context.Context, tx *store.Tx, task queue.Task, r result) (bool, []store.Step, error) {
	steps, err := tx.Steps(ctx, task.Video)
	if err != nil {
		return false, nil, err
	}
	renditions, _ := toAssemble(steps)
	for _, n := range r.made {
		if !slices.Contains(renditions, n) {
			return false, nil, nil
		}
	}
	done, err := tx.FinishStep(ctx, task.Video, string(task.Kind), task.Number, r.frames, t.clock.Now())
	for i, s := range steps {
		if s.Kind == string(task.Kind) && s.Number == task.Number {
			steps[i].Done, steps[i].Frames = true, r.frames
		}
	}
	return done, steps, err
}

// renditionsOf returns the renditions that files were made for.
func renditionsOf[F any](files []F, rendition func(F) int) []int {
	all := make([]int, len(files))
	for i, f := range files {
		all[i] = rendition(f)
	}
	return all
}

// toAssemble returns which renditions are still to be assembled, and whether all their parts are
// done. The inspection comes before a pass and the comparison with the source after it, so a step of
// these that a failure has left says nothing about the pass.
func toAssemble(steps []store.Step) (renditions []int, last bool) {
	last = true
	for _, s := range steps {
		switch k := stepKind(s); {
		case s.Done:
		case k.PerRendition:
			renditions = append(renditions, s.Number)
		case k.Blocks:
			last = false
		}
	}
	return renditions, last
}

func assembleTasks(v video.Video, renditions []int) []queue.Task {
	tasks := make([]queue.Task, len(renditions))
	for i, n := range renditions {
		tasks[i] = newTask(queue.Assemble, v.ID, v.Tenant, n)
	}
	return tasks
}

// verdict returns the warnings about a video all of whose parts are done.
func verdict(p *video.Plan, steps []store.Step) []video.Warning {
	frames, audio := make([]int, len(p.Chunks)), false
	for _, s := range steps {
		switch queue.Kind(s.Kind) {
		case queue.Encode:
			frames[s.Number] = int(s.Frames)
		case queue.Audio:
			audio = s.Frames == audible
		}
	}
	return p.Verdict(frames, audio)
}
