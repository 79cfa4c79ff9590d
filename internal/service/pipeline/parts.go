package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// ChunkFile is one chunk at one rendition, as a worker made it.
type ChunkFile struct {
	Rendition int
	Path      string
	Frames    int
	// NotCopied is why the picture of the rendition cannot be copied, as it was to be; it has no file.
	NotCopied video.CopyReason
}

// FinishChunk stores the files of a chunk. v is the video as it was when the task began. The transaction
// that finishes the last part of a rendition also enqueues its assembly.
func (t *Tasks) FinishChunk(ctx context.Context, task queue.Task, v video.Video, files []ChunkFile) error {
	r, codec := newResult(v), KindOf(task.Kind).Codec
	for _, f := range files {
		r.frames = max(r.frames, int64(f.Frames))
		if f.NotCopied != "" {
			r.record = t.recode(f.NotCopied)
			continue
		}
		if _, err := t.blobs.PutFile(ctx, objects.Chunk(v.Folder(), codec, task.Number, f.Rendition, r.run), f.Path); err != nil {
			return fmt.Errorf("store chunk file: %w", err)
		}
	}
	if codec != "" {
		r.made = ratesOf(v, codec)
		t.hook.Reach(failpoint.VariantStored)
	}
	return t.finish(ctx, task, r)
}

// newResult returns the result of one execution of a task of a pass. Its files have names of their own: another
// execution may run at the same time, and people may be watching what the first one has made of a video that
// is played while it is encoded.
func newResult(v video.Video) result {
	return result{folder: v.Folder(), pass: &v.Plan.First, run: strings.ReplaceAll(newID(), "-", "")}
}

// finishPart records that a part of a pass is done: a chunk, the audio, or what is published beside
// the renditions, which is a part too so that a ready video has it.
func (t *Tasks) finishPart(ctx context.Context, tx *store.Tx, task queue.Task, r result) error {
	done, steps, err := t.finishStep(ctx, tx, task, r)
	if err != nil {
		return err
	}
	if !done { // another execution was first, or a pass has begun: what was stored may be unused
		return t.passes.enqueuePurge(ctx, tx, task.Video, AfterPass)
	}
	if err := r.store(ctx, tx, task.Video); err != nil {
		return err
	}
	if r.record != nil { // it may have added steps
		if steps, err = tx.Steps(ctx, task.Video); err != nil {
			return err
		}
	}
	v, err := tx.Video(ctx, task.Video)
	if err != nil {
		return err
	}
	if v.Sound, err = recordTrack(ctx, tx, task, v, steps); err != nil {
		return err
	}
	if err := t.recordPlayable(ctx, tx, v, steps); err != nil {
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
// was first, or when the result is stale.
func (t *Tasks) finishStep(ctx context.Context, tx *store.Tx, task queue.Task, r result) (bool, []store.Step, error) {
	if stale, err := r.isStale(ctx, tx, task); err != nil || stale {
		return false, nil, err
	}
	steps, err := tx.Steps(ctx, task.Video)
	if err != nil {
		return false, nil, err
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
	for set, kind := range map[video.Set]queue.Kind{video.FirstSet: queue.Encode, video.LargeSet: queue.Large, video.RecodedSet: queue.Recode} {
		part, _ := v.Plan.Only(set)
		rate := video.HighestRate(part.Renditions)
		for n, s := range stepsOf(kind, steps, len(frames)) {
			frames[n] = max(frames[n], v.Plan.Chunks[n].Decoded(int(s.Frames), rate))
		}
	}
	var audio Parts
	if v.Plan.Audio != nil {
		audio = AudioParts(v, steps, 0)
	}
	all := v.Plan.Verdict(frames, len(audio.Keys) > 0 || hasSound(v))
	if audio.Broken && len(audio.Keys) > 0 {
		from, _ := v.Plan.AudioPiece(len(audio.Keys))
		all = append(all, video.Warnf(video.Corrupt, "The audio is damaged and could not be decoded any further after %s.", video.Lasting(packetSeconds(from))))
	}
	return all
}
