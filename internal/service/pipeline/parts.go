package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// FinishChunk stores the files of a chunk. The transaction that finishes the last part of a
// rendition also enqueues its assembly.
func (t *Tasks) FinishChunk(ctx context.Context, id video.ID, chunk int, files []ChunkFile) error {
	v, err := t.store.Video(ctx, id)
	if err != nil && video.KindOf(err) != video.NotFound { // of a deleted video, what is stored is removed again
		return err
	}
	run := "" // the names that older versions know, which may assemble it
	if v.Plan != nil && v.Plan.Early != nil {
		run = newRun()
	}
	return t.finishChunk(ctx, queue.Task{Kind: queue.Encode, Video: id, Number: chunk}, run, files)
}

func (t *Tasks) finishChunk(ctx context.Context, task queue.Task, run string, files []ChunkFile) error {
	var frames int64
	for _, f := range files {
		if _, err := t.blobs.PutFile(ctx, objects.Chunk(task.Video, task.Number, f.Rendition, run), f.Path); err != nil {
			return fmt.Errorf("store chunk file: %w", err)
		}
		frames = int64(f.Frames)
	}
	return t.finish(ctx, task, result{frames: frames, run: run, made: renditionsOf(files, func(f ChunkFile) int { return f.Rendition })})
}

// newRun returns an identifier for one execution of a task, which becomes part of the names of its files. Two
// executions may run at the same time, and people may be watching what the first one has made of a video with
// an early plan.
func newRun() string { return strings.ReplaceAll(newID(), "-", "") }

// FinishAudio stores the audio of a video, under the name that older versions know.
func (t *Tasks) FinishAudio(ctx context.Context, id video.ID, path string) error {
	return t.finishAudio(ctx, id, 0, audible, "", path)
}

func (t *Tasks) finishAudio(ctx context.Context, id video.ID, piece, packets int, run, path string) error {
	if _, err := t.blobs.PutFile(ctx, objects.Audio(id, piece, run), path); err != nil {
		return fmt.Errorf("store audio: %w", err)
	}
	r := result{frames: int64(packets), run: run}
	if run != "" { // a piece: the plan of a later pass asks for the whole
		r.fits = func(p *video.Plan) bool { return p != nil && p.Early != nil && piece < p.AudioPieces() }
	}
	return t.finish(ctx, queue.Task{Kind: queue.Audio, Video: id, Number: piece}, r)
}

// NoteLostAudio records that so much of the audio could not be decoded, before the audio is finished. Of
// several pieces, the last ones know the most. A task that runs twice finds the same.
func NoteLostAudio(ctx context.Context, t *Tasks, id video.ID, lost time.Duration) error {
	return t.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil || v.Plan == nil || v.Plan.Audio == nil || v.Plan.Audio.Lost >= lost {
			return err
		}
		plan, audio := *v.Plan, *v.Plan.Audio
		audio.Lost, plan.Audio = lost, &audio
		return tx.SetFindings(ctx, id, store.Findings{Plan: &plan})
	})
}

const (
	audible = 1  // what the step of a whole audio track counts as its frames
	ended   = -1 // the same for a piece behind the end of the audio; a piece that was given up has 0
)

// finishPart records that a part of a pass is done: a chunk, the audio, or what is published beside
// the renditions, which is a part too so that a ready video has it.
func (t *Tasks) finishPart(ctx context.Context, tx *store.Tx, task queue.Task, r result) error {
	done, steps, err := t.finishStep(ctx, tx, task, r)
	if err != nil {
		return err
	}
	if !done { // another execution was first: what was stored may be unused
		return t.passes.enqueuePurge(ctx, tx, task.Video, AfterPass)
	}
	if err := r.store(ctx, tx, task.Video); err != nil {
		return err
	}
	v, err := tx.Video(ctx, task.Video)
	if err != nil {
		return err
	}
	if err := t.notePlayable(ctx, tx, v, steps); err != nil {
		return err
	}
	renditions := toAssemble(v.Plan, steps) // also renditions whose task waits or runs already: the queue skips it
	if len(renditions) == 0 {
		return nil
	}
	if err := setWarnings(ctx, tx, v, verdict(v, steps)); err != nil {
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
	if r.fits != nil {
		if v, err := tx.Video(ctx, task.Video); err != nil || !r.fits(v.Plan) {
			return false, nil, err
		}
	}
	open := openRenditions(steps)
	for _, n := range r.made {
		if !slices.Contains(open, n) {
			return false, nil, nil
		}
	}
	done, err := tx.FinishStep(ctx, task.Video, r.step(task), t.clock.Now())
	for i, s := range steps {
		if isStepOf(s, task) {
			steps[i].Done, steps[i].Frames, steps[i].Run = true, r.frames, r.run
		}
	}
	return done, steps, err
}

func isStepOf(s store.Step, t queue.Task) bool {
	return s.Kind == string(t.Kind) && s.Number == t.Number
}

// renditionsOf returns the renditions that files were made for.
func renditionsOf[F any](files []F, rendition func(F) int) []int {
	all := make([]int, len(files))
	for i, f := range files {
		all[i] = rendition(f)
	}
	return all
}

// openRenditions returns which renditions are still to be assembled.
func openRenditions(steps []store.Step) []int {
	var open []int
	for _, s := range steps {
		if stepKind(s).Stage == Assemble && !s.Done {
			open = append(open, s.Number)
		}
	}
	return open
}

// toAssemble returns which renditions are still to be assembled and have all their parts. The
// inspection comes before a pass and the comparison with the source after it, so a step of these that a
// failure has left says nothing about the pass.
func toAssemble(p *video.Plan, steps []store.Step) []int {
	return slices.DeleteFunc(openRenditions(steps), func(rendition int) bool {
		return slices.ContainsFunc(steps, func(s store.Step) bool {
			return !s.Done && stepKind(s).Stage == Make && Concerns(p, s, rendition)
		})
	})
}

func assembleTasks(v video.Video, renditions []int) []queue.Task {
	tasks := make([]queue.Task, len(renditions))
	for i, n := range renditions {
		tasks[i] = newTask(queue.Assemble, v.ID, v.Tenant, n)
	}
	return tasks
}

// verdict returns the warnings about a video of which at least one set of renditions has all chunks and
// the audio. The other set may have open ones, so a chunk has the frames that either of them found.
func verdict(v video.Video, steps []store.Step) []video.Warning {
	frames := make([]int, len(v.Plan.Chunks))
	for _, kind := range []queue.Kind{queue.Encode, queue.Large} {
		for n, s := range stepsOf(kind, steps, len(frames)) {
			frames[n] = max(frames[n], int(s.Frames))
		}
	}
	audio := AudioParts(v, steps)
	all := v.Plan.Verdict(frames, len(audio.Keys) > 0)
	if audio.Broken && len(audio.Keys) > 0 {
		from, _ := v.Plan.AudioPiece(len(audio.Keys))
		all = append(all, video.Warnf(video.Corrupt, "The audio is damaged and could not be decoded any further after %s.", video.Lasting(packetSeconds(from))))
	}
	return all
}
