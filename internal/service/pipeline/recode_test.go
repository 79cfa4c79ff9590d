package pipeline_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// copyPlan copies 720p and encodes 240p.
func copyPlan() *video.Plan {
	p := servicetest.Plan("720p", "240p")
	p.Copy, p.Renditions[0].Making = &video.Copy{}, video.Copied
	return p
}

func TestACopyThatIsReady(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Ready(copyPlan())
	if !v.Resolutions[0].Copied || v.Resolutions[1].Copied {
		t.Errorf("the resolutions are %+v; want 720p copied", v.Resolutions)
	}
}

// The picture of the last chunk turns out to be damaged. Nothing of the rendition is published before all of it is encoded,
// and a chunk that was copied by a task with the plan before does not count.
func TestACopyThatIsDamagedIsEncoded(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Processing(video.Draft{IsPublic: true}).ID
	b.Must(b.StorePlan(t.Context(), id, copyPlan()))
	b.Audio(id)
	before := b.Video(id)
	both := func(copied pipeline.ChunkFile) []pipeline.ChunkFile {
		return []pipeline.ChunkFile{{Rendition: 1, Path: b.File("small"), Frames: 5}, copied}
	}
	b.Chunk(id, 1, both(pipeline.ChunkFile{Rendition: 0, Frames: 5, NotCopied: video.CopyDamaged})...)
	if v := b.Video(id); v.Status != video.Processing || v.Plan.CopiedRendition() >= 0 || !slices.Equal(v.Plan.Copy.Reasons, []video.CopyReason{video.CopyDamaged}) {
		t.Fatalf("the video is %s, its plan %+v", v.Status, v.Plan)
	}
	task := queue.Task{Kind: queue.Encode, Video: id, Number: 0}
	b.Must(b.FinishChunk(t.Context(), task, before, both(pipeline.ChunkFile{Rendition: 0, Path: b.File("copied"), Frames: 5})))
	if n := b.Waiting(); n[queue.Assemble] != 1 || n[queue.Recode] != 2 {
		t.Fatalf("tasks = %v; want the small rendition assembled, and two chunks encoded", n)
	}
	for chunk := range 2 {
		task := queue.Task{Kind: queue.Recode, Video: id, Number: chunk}
		b.Must(b.FinishChunk(t.Context(), task, b.Video(id), []pipeline.ChunkFile{{Rendition: 0, Path: b.File("encoded"), Frames: 5}}))
	}
	parts, err := b.Files.OpenChunkFiles(t.Context(), b.Video(id), 0)
	b.Must(err)
	defer parts.Close()
	for _, c := range parts.Chunks {
		if c.Info().Size != int64(len("encoded")) {
			t.Errorf("chunk %s has %d bytes; want those that were encoded", c.Info().Key, c.Info().Size)
		}
	}
	b.Publish(id, 1)
	b.Publish(id, 0)
	if v := b.Video(id); v.Status != video.Ready || v.Resolutions[0].Copied {
		t.Errorf("the video is %s; 720p was copied: %t", v.Status, v.Resolutions[0].Copied)
	}
}

// People do not watch what is copied before all of it has been decoded.
func TestACopyIsNotPlayedEarly(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Processing(video.Draft{IsPublic: true}).ID
	p := earlyPlan()
	p.Renditions[1].Making = video.Copied
	b.Must(b.StorePlan(t.Context(), id, p))
	early := earlyRig{b, id}
	early.audio(0)
	for chunk := range 3 {
		early.small(chunk)
		early.playable(false)
	}
	early.audio(1)
	b.Publish(id, 1)
	early.playable(true)
}
