package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// The order of work. Tenants take turns (package queue); in its turn a tenant
// runs what is most urgent. Smaller runs first: what makes a video visible sooner goes
// before what makes it longer, and the first chunks of a new video go before
// the late chunks of a long film, so that a clip never waits for a film to end.
const (
	urgent            = 0 // inspection: short, and everything else waits for it
	assemblePriority  = 1
	thumbnailPriority = 2
	audioPriority     = 3
	purgePriority     = 4
	encodePriority    = 10 // plus the number of the chunk, up to lateChunk
	lateChunk         = 50
	measurePriority   = 100 // after everything that somebody waits for
)

// Working returns the video that a task is about. It reports false when nobody
// wants the task's result any more.
func (a *App) Working(ctx context.Context, t queue.Task) (video.Video, bool, error) {
	v, err := a.store.VideoWithPlan(ctx, t.Video)
	if video.KindOf(err) == video.NotFound {
		// A task that was just ending may have left something after its video
		// was deleted, so a purge is wanted even then.
		return video.Video{}, t.Kind == queue.Purge, nil
	}
	if err != nil {
		return video.Video{}, false, err
	}
	if t.Kind == queue.Purge {
		return v, true, nil
	}
	if !v.DeletedAt.IsZero() || v.CompletedAt.IsZero() || v.Status == video.Fail {
		return v, false, nil
	}
	steps, err := a.store.Steps(ctx, t.Video)
	return v, open(t, v, steps), err
}

// open reports whether what a task does is still to be done. Its worker may have
// slept through the end of its step, or of its round.
func open(t queue.Task, v video.Video, steps []store.Step) bool {
	if t.Kind == queue.Inspect {
		return len(v.Unplanned()) > 0 && !underWay(steps)
	}
	return slices.ContainsFunc(steps, func(s store.Step) bool { return s.Kind == string(t.Kind) && s.Number == t.Number && !s.Done })
}

// Planned stores what inspecting a file decided and queues all that follows, in
// one transaction.
func (a *App) Planned(ctx context.Context, id video.ID, p *video.Plan) error {
	return a.ifWanted(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil || v.Status != video.Processing || covers(v.Plan, p) { // given up, or inspected before
			return err
		}
		if before, err := tx.Steps(ctx, id); err != nil || underWay(before) {
			return err // it is not this plan's turn yet
		}
		p := p.After(v.Plan)
		steps, tasks := layOut(v, p)
		if err := tx.DropSteps(ctx, id); err != nil { // of the inspection, and what stale tasks have left
			return err
		}
		if err := tx.SetPlan(ctx, id, p); err != nil {
			return err
		}
		if err := warn(ctx, tx, v, p.Warnings); err != nil {
			return err
		}
		if err := tx.InsertSteps(ctx, id, steps); err != nil {
			return err
		}
		return a.queue.Enqueue(ctx, tx, tasks...)
	})
}

// inspection is the first task of a video.
func inspection(id video.ID, tenant video.Tenant) queue.Task {
	return queue.Task{Kind: queue.Inspect, Video: id, Tenant: tenant, Priority: urgent}
}

// layOut turns a plan into its steps and the tasks that can start at once. The
// weights are rough shares of the time each takes, in seconds of film.
func layOut(v video.Video, p *video.Plan) (steps []store.Step, tasks []queue.Task) {
	add := func(k queue.Kind, number int, weight float64) {
		steps = append(steps, store.Step{Kind: string(k), Number: number, Weight: weight})
	}
	start := func(k queue.Kind, number, priority int) {
		tasks = append(tasks, queue.Task{Kind: k, Video: v.ID, Tenant: v.Tenant, Number: number, Priority: priority})
	}
	for i := range p.Chunks {
		add(queue.Encode, i, max(p.Length(i).Seconds(), 0.1))
		start(queue.Encode, i, encodePriority+min(i, lateChunk))
	}
	if p.Audio != nil {
		add(queue.Audio, 0, 0.05*p.Duration.Seconds())
		start(queue.Audio, 0, audioPriority)
	}
	if len(p.Thumbnails) > 0 {
		add(queue.Thumbnails, 0, 0.1*float64(len(p.Thumbnails)))
		start(queue.Thumbnails, 0, thumbnailPriority)
	}
	for i := p.First; i < len(p.Renditions); i++ {
		add(queue.Assemble, i, 0.05+0.005*p.Duration.Seconds())
	}
	return steps, tasks
}

// ifWanted runs f in a transaction that holds the video's lock. If the video is
// gone there is nothing to do, which is no error.
func (a *App) ifWanted(ctx context.Context, id video.ID, f func(*store.Tx) error) error {
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		return f(tx)
	})
	if video.KindOf(err) == video.NotFound {
		return nil
	}
	return err
}

// PieceFile is one rendition of a chunk as a worker made it.
type PieceFile struct {
	Rendition int
	Path      string
	Frames    int
}

// FinishChunk keeps the pieces of a chunk. Whoever finishes the last piece of a
// film queues its assembly, in the same transaction.
func (a *App) FinishChunk(ctx context.Context, id video.ID, chunk int, pieces []PieceFile) error {
	var frames int64
	for _, p := range pieces {
		if _, err := a.blobs.PutFile(ctx, pieceKey(id, chunk, p.Rendition), p.Path); err != nil {
			return fmt.Errorf("keep piece: %w", err)
		}
		frames = int64(p.Frames)
	}
	return a.finishPart(ctx, id, queue.Encode, chunk, frames, renditionsOf(pieces, func(p PieceFile) int { return p.Rendition }))
}

// FinishAudio keeps the sound of a film.
func (a *App) FinishAudio(ctx context.Context, id video.ID, path string) error {
	if _, err := a.blobs.PutFile(ctx, audioKey(id), path); err != nil {
		return fmt.Errorf("keep sound: %w", err)
	}
	return a.finishPart(ctx, id, queue.Audio, 0, heard, nil)
}

// heard is what the step of the sound counts as its frames when there is any.
const heard = 1

// finishPart records that a part of a film is there. Stills are parts too: who
// sees that a video is ready finds its thumbnails there as well. made are the
// renditions that the part was made for.
func (a *App) finishPart(ctx context.Context, id video.ID, k queue.Kind, number int, frames int64, made []int) error {
	a.reached(PiecesKept)
	var kept bool
	err := a.ifWanted(ctx, id, func(tx *store.Tx) (err error) {
		kept = true
		done, steps, err := a.finishStep(ctx, tx, id, k, number, frames, made)
		if err != nil {
			return err
		}
		if !done {
			return a.enqueuePurge(ctx, tx, id, afterWork) // another was first: what was kept above may be nobody's
		}
		films, last := assemblies(steps)
		if !last {
			return nil
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		if err := warn(ctx, tx, v, verdict(v.Plan, steps)); err != nil {
			return err
		}
		return a.queue.Enqueue(ctx, tx, assembleTasks(v, films)...)
	})
	if err == nil && !kept {
		return a.removeWork(ctx, id) // the video was deleted meanwhile: what was kept above is nobody's
	}
	return err
}

// finishStep records that a part is done and returns all steps. It reports false
// when another was first, or when the part was made for an earlier round: its
// worker must have slept through the end of that one.
func (a *App) finishStep(ctx context.Context, tx *store.Tx, id video.ID, k queue.Kind, number int, frames int64, made []int) (bool, []store.Step, error) {
	steps, err := tx.Steps(ctx, id)
	if err != nil {
		return false, nil, err
	}
	films, _ := assemblies(steps)
	for _, r := range made {
		if !slices.Contains(films, r) {
			return false, nil, nil
		}
	}
	done, err := tx.FinishStep(ctx, id, string(k), number, frames, a.now())
	for i, s := range steps {
		if s.Kind == string(k) && s.Number == number {
			steps[i].Done, steps[i].Frames = true, frames
		}
	}
	return done, steps, err
}

// renditionsOf returns what files were made for.
func renditionsOf[F any](files []F, rendition func(F) int) []int {
	all := make([]int, len(files))
	for i, f := range files {
		all[i] = rendition(f)
	}
	return all
}

// assemblies returns which films are still to be assembled, and whether all their
// parts are done.
func assemblies(steps []store.Step) (films []int, last bool) {
	last = true
	for _, s := range steps {
		switch {
		case !holdsUp(s):
		case s.Kind == string(queue.Assemble):
			films = append(films, s.Number)
		default:
			last = false
		}
	}
	return films, last
}

func assembleTasks(v video.Video, films []int) []queue.Task {
	tasks := make([]queue.Task, len(films))
	for i, n := range films {
		tasks[i] = queue.Task{Kind: queue.Assemble, Video: v.ID, Tenant: v.Tenant, Number: n, Priority: assemblePriority}
	}
	return tasks
}

// verdict is what there is to say about a film all of whose parts are done.
func verdict(p *video.Plan, steps []store.Step) []video.Warning {
	frames, sound := make([]int, len(p.Chunks)), false
	for _, s := range steps {
		switch queue.Kind(s.Kind) {
		case queue.Encode:
			frames[s.Number] = int(s.Frames)
		case queue.Audio:
			sound = s.Frames == heard
		}
	}
	return p.Verdict(frames, sound)
}

// warn replaces the warnings about a video, which hardly any has. Those about
// films of earlier rounds stay: they are as true as they were.
func warn(ctx context.Context, tx *store.Tx, v video.Video, all []video.Warning) error {
	if slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool { return r.Status == video.Ready }) {
		fresh := slices.DeleteFunc(slices.Clone(all), func(w video.Warning) bool { return slices.Contains(v.Warnings, w) })
		all = slices.Concat(v.Warnings, fresh)
	}
	if slices.Equal(all, v.Warnings) {
		return nil
	}
	return tx.SetWarnings(ctx, v.ID, all)
}

// Pieces are the parts of one rendition, open for reading.
type Pieces struct {
	Chunks []blob.Object
	Audio  blob.Object // nil for a silent film
	Frames int64       // that the chunks together must have
}

// Close closes all of them.
func (p *Pieces) Close() {
	for _, o := range p.Chunks {
		o.Close()
	}
	if p.Audio != nil {
		p.Audio.Close()
	}
}

// OpenPieces opens what a rendition is assembled from. A chunk in which nothing
// could be decoded has no piece and is left out.
func (a *App) OpenPieces(ctx context.Context, v video.Video, rendition int) (*Pieces, error) {
	steps, err := a.store.Steps(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	p, sound := new(Pieces), false
	for _, s := range steps {
		sound = sound || s.Kind == string(queue.Audio) && s.Frames == heard
		if s.Kind != string(queue.Encode) || s.Frames == 0 {
			continue
		}
		o, err := a.blobs.Open(ctx, pieceKey(v.ID, s.Number, rendition))
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("open piece %d: %w", s.Number, err)
		}
		p.Chunks = append(p.Chunks, o)
		p.Frames += s.Frames
	}
	if v.Plan.Audio == nil {
		return p, nil
	}
	o, err := a.blobs.Open(ctx, audioKey(v.ID))
	if err == nil {
		p.Audio = o
	} else if sound || !errors.Is(err, fs.ErrNotExist) { // only sound that could not be decoded leaves a silent film
		p.Close()
		return nil, fmt.Errorf("open sound: %w", err)
	}
	return p, nil
}

// SkipAudio goes on without sound: a track that cannot be decoded does not cost
// the pictures.
func (a *App) SkipAudio(ctx context.Context, id video.ID) error {
	return a.finishPart(ctx, id, queue.Audio, 0, 0, nil)
}

// Progress records how far a task has come. It reports false when nobody waits
// for it any more.
func (a *App) Progress(ctx context.Context, t queue.Task, done float64) (bool, error) {
	return a.store.SetProgress(ctx, t.Video, string(t.Kind), t.Number, done)
}
