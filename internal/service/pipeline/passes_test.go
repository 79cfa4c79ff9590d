package pipeline_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// A resolution that waits for its own pass was not tried yet, so it does not fail with the current one.
func TestAWaitingResolutionOutlivesThePassBefore(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"8k"}})
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("8k")))
	b.Add(v.ID, "240p")
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.LimitMemory, "It takes too much memory.")))
	b.WantStatuses(v.ID, "processing: 8k fail, 240p processing")
	wantReconciled(b, map[queue.Kind]int{queue.Inspect: 1})
	s, err := b.Catalog.State(t.Context(), b.By, v.ID)
	b.Must(err)
	if s.Video.Failure != nil || s.Resolutions[1].Failure != nil {
		t.Errorf("failures are %v and %v; want none of what goes on", s.Video.Failure, s.Resolutions[1].Failure)
	}
	b.Transcode(v.ID, servicetest.Plan("240p"))
	if s, err = b.Catalog.State(t.Context(), b.By, v.ID); err != nil || s.Resolutions[0].Progress != 0 || s.Resolutions[1].Progress == 0 {
		t.Errorf("progress = %v and %v, %v; want none of the one that failed", s.Resolutions[0].Progress, s.Resolutions[1].Progress, err)
	}
	b.Publish(v.ID, 1)
	b.WantStatuses(v.ID, "ready: 8k fail, 240p ready")
}

// A later pass keeps the warnings about the renditions of the first.
func TestWarningsOutliveTheirPass(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p")))
	for chunk := range 2 {
		b.Chunk(v.ID, chunk, pipeline.ChunkFile{Path: b.File("chunk"), Frames: 5})
	}
	b.Must(b.Skip(t.Context(), queue.Task{Kind: queue.Audio, Video: v.ID}))
	b.Publish(v.ID, 0)
	silent := b.Video(v.ID).Warnings
	if len(silent) != 1 {
		t.Fatalf("warnings = %v; want that the rendition is silent", silent)
	}
	b.Add(v.ID, "240p")
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("240p")))
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.LimitTime, "It took too long.")))
	if got := b.Video(v.ID).Warnings; !slices.Equal(got, silent) {
		t.Errorf("warnings = %v; want %v as before", got, silent)
	}
	b.Add(v.ID, "144p")
	b.Finish(v.ID) // with audio
	if got := b.Video(v.ID).Warnings; !slices.Equal(got, silent) {
		t.Errorf("warnings = %v; want %v, which is still true of one rendition", got, silent)
	}
}

// Nobody waits for a pass all of whose resolutions were deleted.
func TestDeletingAllOfAPassStartsTheNext(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"8k", "720p"}})
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("8k", "720p")))
	b.Add(v.ID, "240p")
	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[0].ID))
	if n := b.Waiting(); n[queue.Encode] != 2 {
		t.Errorf("tasks = %v; want the pass to go on for 720p", n)
	}
	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[1].ID))
	if n := b.Waiting(); n[queue.Encode] != 0 || n[queue.Inspect] != 1 {
		t.Errorf("tasks = %v; want the pass of 240p to begin", n)
	}
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 240p ready")
}

// A worker that slept through the end of a pass does not end a step of the next.
func TestStaleWorkDoesNotCount(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}, Thumbnails: []float64{1}})
	withThumbnails := func(name video.Name) *video.Plan {
		p := servicetest.Plan(name)
		p.Audio, p.Thumbnails = nil, []video.Thumbnail{{}}
		return p
	}
	old := []pipeline.ChunkFile{{Rendition: 0, Path: b.File("old"), Frames: 5}}
	b.Must(b.StorePlan(ctx, v.ID, withThumbnails("720p")))
	before := b.Video(v.ID)
	b.Must(b.GiveUpVideo(ctx, v.ID, video.Failf(video.LimitTime, "It took too long.")))
	_, err := b.Catalog.RetryResolution(ctx, b.By, v.Resolutions[0].ID)
	b.Must(err)
	b.Must(b.StorePlan(ctx, v.ID, withThumbnails("720p")))

	b.Must(b.FinishChunk(ctx, queue.Task{Kind: queue.Encode, Video: v.ID}, before, old))
	b.Must(b.PublishThumbnails(ctx, before, []pipeline.ThumbnailFile{{Rendition: 0, Path: b.File("old")}}))
	b.Must(b.PublishRendition(ctx, before, 0, pipeline.RenditionFile{Path: b.File("old")}))
	for _, k := range []queue.Kind{queue.Encode, queue.Thumbnails} {
		if _, wanted, err := b.LoadTask(ctx, queue.Task{Kind: k, Video: v.ID}); !wanted || err != nil {
			t.Errorf("%s is wanted = %t, %v after stale work; want it to go on", k, wanted, err)
		}
	}
	b.WantStatuses(v.ID, "processing: 720p processing")
}

// A video whose resolutions were all deleted before its upload is completed has nothing to wait for.
func TestAVideoWithoutResolutionsComesToItsEnd(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	up := b.Create(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Must(b.DeleteResolution(ctx, b.By, up.Video.Resolutions[0].ID))
	b.WantStatuses(up.Video.ID, "pending_upload: ")
	b.Put(up, servicetest.LikeVideo)
	_, err := b.Uploads.Complete(ctx, b.By, up.Video.ID)
	b.Must(err)
	b.WantStatuses(up.Video.ID, "fail: ")
	if f := b.Video(up.Video.ID).Failure; f == nil || f.Message != pipeline.NoResolutionLeft().Message {
		t.Errorf("the failure is %v", f)
	}
	if u, err := b.Tenants.Usage(ctx, b.By); err != nil || u.InWork != 0 {
		t.Errorf("%d videos are in work, %v", u.InWork, err)
	}
	b.Add(up.Video.ID, "240p")
	b.Finish(up.Video.ID)
	b.WantStatuses(up.Video.ID, "ready: 240p ready")
}
