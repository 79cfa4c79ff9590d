package pipeline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// earlyPlan is one of a video of 80 s that is played while it is encoded: 720p is large, 240p small.
func earlyPlan() *video.Plan {
	p := servicetest.Plan("720p", "240p")
	p.Duration = 80 * time.Second
	p.Chunks = []video.Chunk{{End: 6000, Seek: video.NoSeek, Frames: 5}, {Start: 6000, End: 12000, Frames: 5}, {Start: 12000, End: video.Forever, Frames: 5}}
	p.Early = &video.Early{Large: 1, Delay: 80, Pieces: []int64{1406}}
	return p
}

// earlyRig has a video with such a plan.
type earlyRig struct {
	*servicetest.Rig
	id video.ID
}

func newEarly(t *testing.T) earlyRig {
	t.Helper()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	b.Must(b.StorePlan(t.Context(), v.ID, earlyPlan()))
	return earlyRig{b, v.ID}
}

func (b earlyRig) small(chunk int) {
	b.T.Helper()
	b.Chunk(b.id, chunk, pipeline.ChunkFile{Rendition: 1, Path: b.File("small"), Frames: 5})
}

func (b earlyRig) large(chunk int) {
	b.T.Helper()
	task := queue.Task{Kind: queue.Large, Video: b.id, Number: chunk}
	b.Must(b.FinishChunk(b.T.Context(), task, b.Video(b.id), []pipeline.ChunkFile{{Rendition: 0, Path: b.File("large"), Frames: 5}}))
}

func (b earlyRig) audio(piece int) {
	b.T.Helper()
	b.finishAudio(piece, b.Video(b.id), pipeline.AudioFile{Path: b.File("audio"), Packets: 1406})
}

// finishAudio ends a piece of the audio. v is the video as it was when its task began.
func (b earlyRig) finishAudio(piece int, v video.Video, f pipeline.AudioFile) {
	b.T.Helper()
	b.Must(b.FinishAudio(b.T.Context(), queue.Task{Kind: queue.Audio, Video: b.id, Number: piece}, v, f))
}

func (b earlyRig) playable(want bool) {
	b.T.Helper()
	if v := b.Video(b.id); v.Playable() != want {
		b.T.Fatalf("playable is %t, the video is %s", v.Playable(), v.Status)
	}
}

func TestSmallRenditionsAreReadyFirst(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	if n := b.Waiting(); n[queue.Encode] != 3 || n[queue.Large] != 3 || n[queue.Audio] != 2 {
		t.Fatalf("tasks = %v", n)
	}
	b.small(1)
	b.audio(0)
	b.playable(false) // the first chunk is missing
	b.small(0)
	b.playable(true)
	before := b.state().Progress
	b.large(0)
	b.audio(1)
	b.small(2)
	if n := b.Waiting()[queue.Assemble]; n != 1 {
		t.Fatalf("%d renditions are assembled, want the small one", n)
	}
	b.Publish(b.id, 1)
	s := b.state()
	if s.Video.Status != video.Processing || s.Resolutions[1].Status != video.Ready || s.Progress <= before || s.Progress >= 1 {
		t.Errorf("the video is %s, its small resolution %s; progress is %f after %f", s.Video.Status, s.Resolutions[1].Status, s.Progress, before)
	}
	b.large(2)
	b.large(1)
	if n := b.Waiting()[queue.Assemble]; n != 2 {
		t.Fatalf("%d assemblies were queued, want one for each rendition", n)
	}
	b.Publish(b.id, 0)
	b.playable(true)
	if v := b.Video(b.id); v.Status != video.Ready {
		t.Errorf("the video is %s", v.Status)
	}
	b.Must(b.Purge(t.Context(), b.id))
	if keys := b.Objects(); slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, "work/") }) {
		t.Errorf("objects = %v; want no chunk files", keys)
	}
}

// The large renditions may be complete before the small ones: the chunk that is still open is not lost.
func TestLargeRenditionsThatAreCompleteFirst(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.audio(0)
	b.audio(1)
	b.small(0)
	b.small(1)
	for chunk := range 3 {
		b.large(chunk)
	}
	b.Publish(b.id, 0)
	b.small(2)
	b.Publish(b.id, 1)
	if v := b.Video(b.id); v.Status != video.Ready || len(v.Warnings) > 0 {
		t.Errorf("the video is %s with the warnings %v; want none", v.Status, v.Warnings)
	}
}

// An assembly that was lost is queued again with the next part, and one that waits is not queued twice.
func TestTheNextPartQueuesALostAssembly(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.audio(0)
	b.audio(1)
	for chunk := range 3 {
		b.small(chunk)
	}
	b.large(0)
	if n := b.Waiting()[queue.Assemble]; n != 1 {
		t.Fatalf("%d assemblies wait; want one", n)
	}
	b.Must(b.Store.InTx(t.Context(), func(tx *store.Tx) error {
		return b.Queue.Cancel(t.Context(), tx, b.id, queue.Large)
	}))
	b.large(1)
	if n := b.Waiting()[queue.Assemble]; n != 1 {
		t.Errorf("%d assemblies wait after one was lost; want one", n)
	}
}

// A video that is encoded more slowly than people watch is playable when a viewer who begins then will
// not have to wait.
func TestASlowVideoIsPlayableLater(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.Advance(20 * time.Second)
	b.audio(0)
	b.small(0)
	b.small(1)
	b.playable(false) // 12 s of 80 in 20 s
	b.small(2)
	b.playable(true)
}

// tenMinutes is the plan of a film whose first chunks are short.
func tenMinutes() *video.Plan {
	p := earlyPlan()
	p.Duration, p.Chunks = 10*time.Minute, nil
	start := int64(0)
	for _, end := range []int64{9250, 14_000, 22_000, 26_000, 30_000, 38_000, 46_000, 58_000, 70_000, video.Forever} {
		p.Chunks = append(p.Chunks, video.Chunk{Start: start, End: end, Seek: video.NoSeek, Frames: 5})
		start = end
	}
	return p
}

// A viewer who begins when the first chunk is there has its eight seconds, in which the next one has to
// be made.
func TestWhenAFilmIsPlayable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		each   time.Duration // for a second of the film
		chunks int           // that have to be there
	}{
		{500 * time.Millisecond, 1}, {770 * time.Millisecond, 1}, {800 * time.Millisecond, 2}, {900 * time.Millisecond, 3}, {1200 * time.Millisecond, 13},
	} {
		b := servicetest.New(t)
		v := b.Processing(video.Draft{IsPublic: true})
		film := tenMinutes()
		film.Chunks[9].End = 90_000
		for at := int64(90_000); at < 600_000; at += 20_000 {
			film.Chunks = append(film.Chunks, video.Chunk{Start: at, End: at + 20_000, Frames: 5})
		}
		film.Chunks[len(film.Chunks)-1].End = video.Forever
		b.Must(b.StorePlan(t.Context(), v.ID, film))
		rig := earlyRig{b, v.ID}
		rig.audio(0)
		got := 0
		for ; got < tt.chunks+1 && b.Video(v.ID).PlayableAt.IsZero(); got++ {
			b.Advance(time.Duration(film.Length(got).Seconds() * float64(tt.each)))
			rig.small(got)
		}
		if got != tt.chunks {
			t.Errorf("at %v for a second, the film was playable after %d chunks; want %d", tt.each, got, tt.chunks)
		}
	}
}

// What is played early are the small renditions, and nobody wants those of this video any more.
func TestAVideoWithoutSmallResolutionsIsNotPlayable(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.Must(b.DeleteResolution(t.Context(), b.By, b.Video(b.id).Resolutions[1].ID))
	b.audio(0)
	b.small(0)
	b.small(1)
	if v := b.Video(b.id); v.Playable() || !v.PlayableAt.IsZero() {
		t.Errorf("the video is playable: %t, since %s", v.Playable(), v.PlayableAt)
	}
}

func TestTheFilesOfAChunkNeverChange(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.small(0)
	keys := pipeline.VideoParts(b.Video(b.id), b.steps(), 1).Keys
	b.small(0) // a worker that was taken for dead
	if again := pipeline.VideoParts(b.Video(b.id), b.steps(), 1).Keys; len(keys) != 1 || !slices.Equal(keys, again) {
		t.Errorf("the chunk files were %v and are %v", keys, again)
	}
}

func TestAVideoThatFailsIsNotPlayable(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.audio(0)
	b.small(0)
	b.small(1)
	b.playable(true)
	b.Must(b.GiveUpVideo(t.Context(), b.id, video.Failf(video.Corrupt, "It is broken.")))
	b.playable(false)
	_, err := b.Catalog.RetryResolution(t.Context(), b.By, b.Video(b.id).Resolutions[1].ID)
	b.Must(err)
	b.playable(false)
	b.Must(b.StorePlan(t.Context(), b.id, servicetest.Plan("240p")))
	b.playable(false)
}

// The first piece of the audio is not the audio of the next pass, which is made as a whole.
func TestAPieceOfAFailedPassIsNotTheAudio(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	before := b.Video(b.id)
	b.Must(b.GiveUpVideo(t.Context(), b.id, video.Failf(video.Corrupt, "It is broken.")))
	_, err := b.Catalog.RetryResolution(t.Context(), b.By, b.Video(b.id).Resolutions[1].ID)
	b.Must(err)
	b.Must(b.StorePlan(t.Context(), b.id, servicetest.Plan("240p")))
	b.finishAudio(0, before, pipeline.AudioFile{Path: b.File("audio"), Packets: 1406}) // of a worker that slept
	if parts := pipeline.AudioParts(b.Video(b.id), b.steps(), 0); parts.Done != 0 {
		t.Errorf("the audio has the parts %+v; want none", parts)
	}
}

// An assembly that nobody should have queued does not cut a film short.
func TestAnAssemblyWantsAllParts(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	files := pipeline.NewFiles(b.Store, b.Blobs)
	refused := func(missing string) {
		t.Helper()
		if _, err := files.OpenChunkFiles(t.Context(), b.Video(b.id), 1); !errors.Is(err, pipeline.ErrPartsMissing) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	b.audio(0)
	b.small(0)
	b.small(1)
	b.audio(1)
	refused("the last chunk")
	b.small(2)
	open, err := files.OpenChunkFiles(t.Context(), b.Video(b.id), 1)
	b.Must(err)
	open.Close()

	b = newEarly(t)
	files = pipeline.NewFiles(b.Store, b.Blobs)
	for chunk := range 3 {
		b.small(chunk)
	}
	b.audio(0)
	refused("the last piece of the audio")
}

// Each piece is encoded from the beginning, so the last one knows most about what is damaged.
func TestLostAudioIsWhatTheLastPieceFound(t *testing.T) {
	t.Parallel()
	b := newEarly(t)
	b.finishAudio(1, b.Video(b.id), pipeline.AudioFile{Path: b.File("audio"), Packets: 1406, Lost: 4 * time.Second})
	b.finishAudio(0, b.Video(b.id), pipeline.AudioFile{Path: b.File("audio"), Packets: 1406, Lost: 2 * time.Second})
	if lost := b.Video(b.id).Plan.Audio.Lost; lost != 4*time.Second {
		t.Errorf("%v of the audio were lost; want 4s", lost)
	}
}

func TestPiecesOfTheAudio(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		rest    func(earlyRig)
		pieces  int
		warning string
	}{
		{"all", func(b earlyRig) { b.audio(1) }, 2, ""},
		{"one that ends early", func(b earlyRig) { b.finishAudio(1, b.Video(b.id), pipeline.AudioFile{}) }, 1, ""},
		{"one that is damaged", func(b earlyRig) {
			b.Must(b.Skip(t.Context(), queue.Task{Kind: queue.Audio, Video: b.id, Number: 1}))
		}, 1, "The audio is damaged and could not be decoded any further after 30.0 s."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newEarly(t)
			b.audio(0)
			for chunk := range 3 {
				b.small(chunk)
			}
			tt.rest(b)
			parts := pipeline.AudioParts(b.Video(b.id), b.steps(), 0)
			if len(parts.Keys) != tt.pieces || !parts.All {
				t.Errorf("the audio has the parts %+v", parts)
			}
			var warning string
			for _, w := range b.Video(b.id).Warnings {
				warning += w.Message
			}
			if warning != tt.warning {
				t.Errorf("the warning is %q; want %q", warning, tt.warning)
			}
		})
	}
}

func (b earlyRig) steps() []store.Step {
	b.T.Helper()
	steps, err := b.Store.Steps(b.T.Context(), b.id)
	b.Must(err)
	return steps
}

func (b earlyRig) state() catalog.State {
	b.T.Helper()
	s, err := b.Catalog.State(b.T.Context(), b.By, b.id)
	b.Must(err)
	return s
}
