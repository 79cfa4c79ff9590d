package pipeline_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// newClip makes a clip whose audio task makes the poster, too.
func newClip(t *testing.T) (*servicetest.Rig, video.ID) {
	t.Helper()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"240p"}})
	b.Must(b.StorePlan(t.Context(), v.ID, clipPlan("240p")))
	wantReconciled(b, map[queue.Kind]int{queue.Encode: 1, queue.Audio: 1})
	if !pipeline.MakesPosterToo(b.Video(v.ID)) {
		t.Fatal("nobody makes the poster")
	}
	return b, v.ID
}

func clipPlan(names ...video.Name) *video.Plan {
	p := servicetest.Plan(names...)
	p.Duration, p.Poster = 2*time.Second, &video.Poster{Width: 2, Height: 2, Frames: make([]video.PosterFrame, 1)}
	p.Chunks = []video.Chunk{{End: video.Forever, Seek: video.NoSeek, Frames: 5}}
	return p
}

func publishPoster(b *servicetest.Rig, id video.ID) {
	b.T.Helper()
	file := pipeline.NewFile{File: video.File{Name: video.PosterFile, Kind: video.PosterKind}, Path: b.File("poster")}
	b.Must(b.PublishFiles(b.T.Context(), queue.Task{Kind: queue.Poster, Video: id}, []pipeline.NewFile{file}))
}

func TestTheAudioTaskOfAClipMakesThePoster(t *testing.T) {
	t.Parallel()
	b, id := newClip(t)
	for range 2 { // the same task, delivered twice
		publishPoster(b, id)
		wantWaiting(b, queue.Poster, 0)
		b.Must(b.FinishAudio(t.Context(), id, b.File("audio")))
	}
	wantWaiting(b, queue.Poster, 0)
	b.Must(b.FinishChunk(t.Context(), id, 0, []pipeline.ChunkFile{{Path: b.File("chunk"), Frames: 5}}))
	wantReconciled(b, map[queue.Kind]int{queue.Assemble: 1})
	b.Publish(id, 0)
	b.WantStatuses(id, "ready: 240p ready")

	b.Add(id, "144p")
	b.Must(b.StorePlan(t.Context(), id, clipPlan("144p")))
	if pipeline.MakesPosterToo(b.Video(id)) {
		t.Error("a later pass makes the poster again")
	}
}

func TestAPosterThatTheAudioTaskHasLeft(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*servicetest.Rig, video.ID) error{
		"made the audio": func(b *servicetest.Rig, id video.ID) error { return b.FinishAudio(t.Context(), id, b.File("audio")) },
		"gave the audio up": func(b *servicetest.Rig, id video.ID) error {
			return b.Skip(t.Context(), queue.Task{Kind: queue.Audio, Video: id})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, id := newClip(t)
			b.Must(end(b, id))
			wantReconciled(b, map[queue.Kind]int{queue.Encode: 1, queue.Poster: 1})
			b.Must(b.FinishChunk(t.Context(), id, 0, []pipeline.ChunkFile{{Path: b.File("chunk"), Frames: 5}}))
			wantReconciled(b, map[queue.Kind]int{queue.Poster: 1})
			publishPoster(b, id)
			wantReconciled(b, map[queue.Kind]int{queue.Assemble: 1})
		})
	}
}

func wantWaiting(b *servicetest.Rig, kind queue.Kind, want int) {
	b.T.Helper()
	if n := b.Waiting(); n[kind] != want {
		b.T.Errorf("tasks = %v; want %d of %s", n, want, kind)
	}
}
