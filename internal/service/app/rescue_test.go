package app_test

import (
	"maps"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// wantRescued takes all tasks away and wants those back that are due.
func (b *bench) wantRescued(want map[queue.Kind]int) {
	b.t.Helper()
	before := b.waiting()
	if n, err := b.Rescue(b.t.Context()); n != 0 || err != nil {
		b.t.Errorf("Rescue = %d, %v before anything was lost", n, err)
	}
	if got := b.waiting(); !maps.Equal(got, before) {
		b.t.Errorf("tasks are %v after Rescue; want them as they were, %v", got, before)
	}
	if _, err := b.store.Writer().ExecContext(b.t.Context(), `DELETE FROM task`); err != nil {
		b.t.Fatal(err)
	}
	all := 0
	for _, n := range want {
		all += n
	}
	if n, err := b.Rescue(b.t.Context()); n != all || err != nil {
		b.t.Errorf("Rescue = %d, %v; want %d tasks", n, err, all)
	}
	if got := b.waiting(); !maps.Equal(got, want) {
		b.t.Errorf("rescued tasks are %v; want %v", got, want)
	}
}

// A video whose tasks are lost goes on where it was, wherever that is.
func TestLostTasksAreQueuedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	b.create(video.Draft{}) // waits for its upload, and needs no task
	gone := b.processing(video.Draft{})
	b.must(b.DeleteVideo(ctx, b.by, gone.ID))
	v := b.processing(video.Draft{Thumbnails: []float64{1}})
	b.wantRescued(map[queue.Kind]int{queue.Inspect: 1})

	p := plan("720p", "240p")
	p.Thumbnails = []video.Thumbnail{{}}
	b.must(b.Planned(ctx, v.ID, p))
	pieces := func() []app.PieceFile {
		return []app.PieceFile{{Rendition: 0, Path: b.file("a"), Frames: 7}, {Rendition: 1, Path: b.file("b"), Frames: 7}}
	}
	b.must(b.FinishChunk(ctx, v.ID, 1, pieces()))
	b.wantRescued(map[queue.Kind]int{queue.Encode: 1, queue.Audio: 1, queue.Thumbnails: 1})

	b.must(b.FinishChunk(ctx, v.ID, 0, pieces()))
	b.must(b.SkipAudio(ctx, v.ID))
	b.must(b.SkipThumbnails(ctx, v.ID))
	b.wantRescued(map[queue.Kind]int{queue.Assemble: 2})
}
