package pipeline_test

import (
	"maps"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// wantReconciled takes all tasks away and wants those back that are due.
func wantReconciled(b *servicetest.Rig, want map[queue.Kind]int) {
	b.T.Helper()
	before := b.Waiting()
	if n, err := b.Passes.Reconcile(b.T.Context()); n != 0 || err != nil {
		b.T.Errorf("Reconcile = %d, %v before anything was lost", n, err)
	}
	if got := b.Waiting(); !maps.Equal(got, before) {
		b.T.Errorf("tasks are %v after Rescue; want them as they were, %v", got, before)
	}
	if _, err := b.Store.Writer().ExecContext(b.T.Context(), `DELETE FROM task`); err != nil {
		b.T.Fatal(err)
	}
	all := 0
	for _, n := range want {
		all += n
	}
	if n, err := b.Passes.Reconcile(b.T.Context()); n != all || err != nil {
		b.T.Errorf("Reconcile = %d, %v; want %d tasks", n, err, all)
	}
	if got := b.Waiting(); !maps.Equal(got, want) {
		b.T.Errorf("rescued tasks are %v; want %v", got, want)
	}
}

// A video whose tasks are lost goes on where it was, wherever that is.
func TestLostTasksAreQueuedAgain(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	b.Create(video.Draft{}) // waits for its upload, and needs no task
	gone := b.Processing(video.Draft{})
	b.Must(b.DeleteVideo(ctx, b.By, gone.ID))
	v := b.Processing(video.Draft{Thumbnails: []float64{1}})
	wantReconciled(b, map[queue.Kind]int{queue.Inspect: 1})

	p := servicetest.Plan("720p", "240p")
	p.Thumbnails = []video.Thumbnail{{}}
	b.Must(b.StorePlan(ctx, v.ID, p))
	chunks := func() []pipeline.ChunkFile {
		return []pipeline.ChunkFile{{Rendition: 0, Path: b.File("a"), Frames: 7}, {Rendition: 1, Path: b.File("b"), Frames: 7}}
	}
	b.Chunk(v.ID, 1, chunks()...)
	wantReconciled(b, map[queue.Kind]int{queue.Encode: 1, queue.Audio: 1, queue.Thumbnails: 1})

	b.Chunk(v.ID, 0, chunks()...)
	b.Must(b.Skip(ctx, queue.Task{Kind: queue.Audio, Video: v.ID}))
	b.Must(b.Skip(ctx, queue.Task{Kind: queue.Thumbnails, Video: v.ID}))
	wantReconciled(b, map[queue.Kind]int{queue.Assemble: 2})
}
