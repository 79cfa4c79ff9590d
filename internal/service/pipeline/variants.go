package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// PublishVariant makes a rendition playable in another codec than H.264, under each name that it serves. What
// PublishRendition says of deletions holds for it, too.
//
// All work in other codecs happens after the pass that made the video ready, in spare time: no status waits for
// it. A pass that begins meanwhile cancels it, and its end starts it again for everything that is lacking then.
// of is the video as it was when the task began.
func (t *Tasks) PublishVariant(ctx context.Context, task queue.Task, of video.Video, f VariantFile) error {
	codec := KindOf(task.Kind).Codec
	staged, err := t.blobs.PutFile(ctx, objects.StagedRendition(of.Folder(), codec, task.Number), f.Path)
	if err != nil {
		return fmt.Errorf("store rendition file: %w", err)
	}
	c := newCopies(t.blobs)
	defer c.discard()
	if t.preparesCopy(staged.Size) {
		v, err := t.store.VideoWithPlan(ctx, task.Video)
		if err != nil && video.KindOf(err) != video.NotFound { // of a deleted video, what is staged is removed again
			return err
		}
		for _, r := range lacking(v, task) {
			if err := c.prepare(ctx, staged.Key, objects.Playback(v, video.VariantFile(codec, r.Name))); err != nil {
				return fmt.Errorf("publish %s in %s: %w", r.Name, codec, err)
			}
		}
	}
	t.hook.Reach(failpoint.VariantStaged)
	made := ratesOf(of, codec)
	return t.finish(ctx, task, result{folder: of.Folder(), made: made, record: func(ctx context.Context, tx *store.Tx, v video.Video) error {
		if tracksInFiles(v) != tracksInFiles(of) {
			return errSoundChanged
		}
		made := video.Variant{Codec: codec, Status: video.Ready, SizeBytes: staged.Size, Bitrate: bitrate(staged.Size, f.Duration)}
		if r := v.Plan.Beside(codec, nil).OutputRange(); r != video.SDR {
			made.Range = r
		}
		all := lacking(v, task)
		if len(all) > 0 && (float64(f.Picture) > video.MostOfH264*float64(f.H264) || staged.Size >= all[0].SizeBytes) {
			return tooLarge(ctx, tx, v, task, all, f)
		}
		return t.publishVariant(ctx, tx, v, all, made, staged, c)
	}})
}

// tooLarge records that a variant would save too little: it is made again with a higher CRF or, if it was before, not kept.
// Players prefer it, and it would cost their viewers more bytes.
func tooLarge(ctx context.Context, tx *store.Tx, v video.Video, task queue.Task, all []video.Resolution, f VariantFile) error {
	codec := KindOf(task.Kind).Codec
	if next, ok := v.Plan.Retry(codec, task.Number, f.Picture, f.H264); ok {
		return tx.SetFindings(ctx, v.ID, store.Findings{Plan: next})
	}
	again := ""
	if slices.Contains(v.Plan.Renditions[task.Number].Again, codec) {
		again = ", also when it was made again with fewer bits"
	}
	return failVariants(ctx, tx, all, codec, video.Failf(video.NotSmaller, "In %s its picture has %d bytes and in H.264 %d%s. "+
		"That is not at least %.0f %% smaller, so H.264 alone is played.", codec.Title(), f.Picture, f.H264, again, 100*(1-video.MostOfH264)))
}

// ratesOf returns the renditions that are still to be made in a codec, with their CRF.
func ratesOf(v video.Video, c video.Codec) map[int]float64 {
	rates := map[int]float64{}
	for _, n := range v.Wanted(c) {
		rates[n] = v.Plan.Renditions[n].CRF[c]
	}
	return rates
}

// makeAgain starts a codec once more when all its tasks are done and some renditions were too large (see tooLarge). It returns
// the steps that there are then.
func (t *Tasks) makeAgain(ctx context.Context, tx *store.Tx, task queue.Task, steps []store.Step) ([]store.Step, error) {
	codec := KindOf(task.Kind).Codec
	open := func(s store.Step) bool { return stepKind(s).Codec == codec && !s.Done }
	if codec == "" || slices.ContainsFunc(steps, open) {
		return steps, nil
	}
	v, err := tx.Video(ctx, task.Video)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(v.Wanted(codec), func(n int) bool { return slices.Contains(v.Plan.Renditions[n].Again, codec) }) {
		return steps, nil
	}
	inCodec := func(k Kind) bool { return k.Codec == codec }
	for _, k := range kindsThat(inCodec) {
		if err := tx.DropStepsOf(ctx, v.ID, string(k)); err != nil {
			return nil, err
		}
	}
	again, tasks := expandKinds(v, inCodec)
	if err := tx.InsertSteps(ctx, v.ID, again); err != nil {
		return nil, err
	}
	if err := t.passes.queue.Enqueue(ctx, tx, tasks...); err != nil {
		return nil, err
	}
	return tx.Steps(ctx, v.ID)
}

func (t *Tasks) publishVariant(ctx context.Context, tx *store.Tx, v video.Video, all []video.Resolution, made video.Variant, staged blob.Info, c *copies) error {
	var files []video.File
	for _, r := range all {
		name := video.VariantFile(made.Codec, r.Name)
		err := tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return c.publish(ctx, staged.Key, objects.Playback(v, name)) })
		if err != nil {
			return fmt.Errorf("publish %s: %w", name, err)
		}
		r.Variants = r.WithVariant(made)
		if err := tx.SetOutput(ctx, r); err != nil {
			return err
		}
		files = append(files, video.File{Name: name, Kind: video.VariantKind, ContentType: blob.ContentType(name), Size: staged.Size})
	}
	t.hook.Reach(failpoint.VariantLinked)
	if len(files) == 0 {
		return nil
	}
	return tx.SetFindings(ctx, v.ID, store.Findings{Files: v.WithFiles(files...)})
}

// lacking returns the resolutions that a task makes in its codec: of the rendition that it joins, or
// of all.
func lacking(v video.Video, task queue.Task) []video.Resolution {
	k := KindOf(task.Kind)
	return slices.DeleteFunc(slices.Clone(v.Resolutions), func(r video.Resolution) bool {
		return v.Plan == nil || !v.Lacks(r, k.Codec) || k.Then == "" && v.Plan.RenditionOf(r.Name) != task.Number
	})
}

// giveUpVariant records that what a task makes cannot be made: a rendition or, if a chunk is missing, all of
// them. The video stays as it is.
func (t *Tasks) giveUpVariant(ctx context.Context, task queue.Task, f *video.Failure) error {
	return t.store.WithVideoLock(ctx, task.Video, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, task.Video)
		if err != nil {
			return err
		}
		steps, err := tx.Steps(ctx, task.Video)
		if err != nil || !taskOpen(task, v, steps) { // another worker did the task meanwhile
			return err
		}
		if err := failVariants(ctx, tx, lacking(v, task), KindOf(task.Kind).Codec, f); err != nil {
			return err
		}
		return t.dropVariants(ctx, tx, task, steps)
	})
}

// failVariants records that some resolutions cannot be made in a codec.
func failVariants(ctx context.Context, tx *store.Tx, all []video.Resolution, c video.Codec, f *video.Failure) error {
	for _, r := range all {
		r.Variants = r.WithVariant(video.Variant{Codec: c, Status: video.Fail, Failure: f})
		if err := tx.SetOutput(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// dropVariants ends a task that was given up and, if others need its result, all of them.
func (t *Tasks) dropVariants(ctx context.Context, tx *store.Tx, task queue.Task, steps []store.Step) error {
	given := KindOf(task.Kind)
	dropped := func(k Kind) bool { return given.Then != "" && k.Codec == given.Codec }
	if given.Then != "" {
		keep := kindsThat(func(k Kind) bool { return !dropped(k) })
		if err := t.passes.queue.Cancel(ctx, tx, task.Video, keep...); err != nil {
			return err
		}
	}
	for i, s := range steps {
		if s.Done || !dropped(stepKind(s)) && !isStepOf(s, task) {
			continue
		}
		if _, err := tx.FinishStep(ctx, task.Video, store.Step{Kind: s.Kind, Number: s.Number}, t.clock.Now()); err != nil {
			return err
		}
		steps[i].Done = true
	}
	return t.endAfterPass(ctx, tx, task.Video, steps)
}

// OpenVariantFiles opens what a rendition in another codec is joined from: its chunk files and, for the
// audio, its H.264 file. Without the latter, because it was deleted, it is fs.ErrNotExist.
func (f *Files) OpenVariantFiles(ctx context.Context, v video.Video, task queue.Task) (*ChunkFiles, error) {
	steps, err := f.store.Steps(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	all := lacking(v, task)
	if len(all) == 0 {
		return nil, fmt.Errorf("open the H.264 file of rendition %d: %w", task.Number, fs.ErrNotExist)
	}
	parts := chunkParts(chunksBefore(task.Kind), v, steps, task.Number)
	if !parts.All {
		return nil, fmt.Errorf("join rendition %d of %s with %d chunks: %w", task.Number, v.ID, parts.Done, ErrPartsMissing)
	}
	c := &ChunkFiles{Frames: parts.Frames}
	if c.Chunks, err = f.openAll(ctx, parts.Keys); err != nil {
		return nil, fmt.Errorf("open chunk file: %w", err)
	}
	places := objects.Places(v, objects.RenditionFile(all[0].Name))
	if c.Audio, err = f.openAll(ctx, places[:1]); errors.Is(err, fs.ErrNotExist) { // isPublic changes, or has changed
		c.Audio, err = f.openAll(ctx, places[1:])
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("open the H.264 file: %w", err)
	}
	return c, nil
}

// chunksBefore returns the kind whose tasks make the chunks that a kind joins.
func chunksBefore(join queue.Kind) queue.Kind {
	return kindsThat(func(k Kind) bool { return k.Then == join })[0]
}

// VariantProgress is how much is done of a codec, by the totals of the steps of a video.
func VariantProgress(c video.Codec, steps []store.Step) float64 {
	var done, all float64
	for _, s := range steps {
		if stepKind(s).Codec == c {
			done += s.Weight * s.Progress
			all += s.Weight
		}
	}
	if all == 0 {
		return 0
	}
	return min(done/all, 0.999)
}
