package pipeline_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestFromPlanToReady(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: true})
	b.Must(b.StorePlan(ctx, v.ID, servicetest.Plan("720p", "240p")))
	b.Must(b.StorePlan(ctx, v.ID, servicetest.Plan("720p", "240p"))) // the same task, delivered twice
	if n := b.Waiting(); n[queue.Encode] != 2 || n[queue.Audio] != 1 || n[queue.Assemble] != 0 {
		t.Fatalf("tasks = %v; want 2 encodes and the audio", n)
	}

	for chunk := range 2 {
		b.Chunk(v.ID, chunk, pipeline.ChunkFile{Rendition: 0, Path: b.File("a"), Frames: 7}, pipeline.ChunkFile{Rendition: 1, Path: b.File("b"), Frames: 7})
	}
	if n := b.Waiting()[queue.Assemble]; n != 0 {
		t.Fatalf("%d assemblies queued before the audio was there", n)
	}
	b.Audio(v.ID)
	if n := b.Waiting()[queue.Assemble]; n != 2 {
		t.Fatalf("%d assemblies queued, want 2", n)
	}

	b.Publish(v.ID, 1)
	w, err := b.Catalog.Public(ctx, b.By, v.ID, servicetest.Base)
	b.Must(err)
	if w.Video.Status != video.Processing || w.Resolutions[0].Status != video.Processing || w.Resolutions[1].Status != video.Ready {
		t.Fatalf("statuses = %s, %s, %s; want 240p ready and the rest processing", w.Video.Status, w.Resolutions[0].Status, w.Resolutions[1].Status)
	}
	if w.Progress <= 0.9 || w.Progress >= 1 || w.Resolutions[1].Progress != 1 {
		t.Errorf("progress = %v, %v", w.Progress, w.Resolutions[1].Progress)
	}
	b.Publish(v.ID, 0)
	if got := b.Video(v.ID); got.Status != video.Ready || got.Resolutions[0].SizeBytes != int64(len(servicetest.Rendition)) {
		t.Fatalf("video = %+v; want ready with its size", got)
	}
	if n := b.Waiting()[queue.Purge]; n != 1 {
		t.Errorf("%d purges queued, want 1", n)
	}
	b.Must(b.Purge(ctx, v.ID))
	want := []string{"public/" + string(v.ID) + "/240p.mp4", "public/" + string(v.ID) + "/720p.mp4", b.Video(v.ID).Source.Key}
	if keys := b.Objects(); !slices.Equal(keys, want) {
		t.Errorf("objects = %v; want %v", keys, want)
	}
}

func TestLastChunkQueuesAssemblyExactlyOnce(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"240p"}})
	p := servicetest.Plan("240p")
	p.Audio = nil
	for i := range 6 {
		p.Chunks = append(p.Chunks, video.Chunk{Start: int64(i+2) * 20000, End: video.Forever})
	}
	b.Must(b.StorePlan(t.Context(), v.ID, p))
	planned := b.Video(v.ID)
	var wg sync.WaitGroup
	for chunk := range p.Chunks {
		for range 2 { // every task is delivered twice
			path := b.File("x")
			wg.Go(func() {
				if err := b.FinishChunk(t.Context(), queue.Task{Kind: queue.Encode, Video: v.ID, Number: chunk}, planned, []pipeline.ChunkFile{{Path: path, Frames: 1}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := b.Waiting()[queue.Assemble]; n != 1 {
		t.Errorf("%d assemblies queued, want 1", n)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	cut := video.Warnf(video.Truncated, "The file is cut off.")
	tests := []struct {
		name   string
		frames int  // that each chunk announces; 5 are decoded
		audio  bool // can be decoded
		found  []video.Warning
		want   []video.FailureCode
		lost   time.Duration // of the audio
	}{
		{"a good rendition", 5, true, nil, nil, 0},
		{"audio that is damaged from the middle on", 5, true, nil, []video.FailureCode{video.Corrupt}, 4 * time.Second},
		{"a rendition that was cut off", 5, true, []video.Warning{cut}, []video.FailureCode{video.Truncated}, 0},
		{"pictures that cannot be decoded", 9, true, nil, []video.FailureCode{video.Corrupt}, 0},
		{"everything at once", 9, false, []video.Warning{cut}, []video.FailureCode{video.Truncated, video.Corrupt, video.Corrupt}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := b.Processing(video.Draft{Resolutions: []video.Name{"240p"}})
			p := servicetest.Plan("240p")
			p.Warnings = tt.found
			for i := range p.Chunks {
				p.Chunks[i].Frames = tt.frames
			}
			b.Must(b.StorePlan(t.Context(), v.ID, p))
			if got := b.Video(v.ID).Warnings; !slices.Equal(got, tt.found) {
				t.Errorf("after the inspection the warnings are %v; want %v", got, tt.found)
			}
			for chunk := range p.Chunks {
				b.Chunk(v.ID, chunk, pipeline.ChunkFile{Path: b.File("chunk"), Frames: 5})
			}
			audio := pipeline.AudioFile{Lost: tt.lost}
			if tt.audio {
				audio.Path, audio.Packets = b.File("audio"), 1
			}
			b.Must(b.FinishAudio(t.Context(), queue.Task{Kind: queue.Audio, Video: v.ID}, b.Video(v.ID), audio))
			var got []video.FailureCode
			for _, w := range b.Video(v.ID).Warnings {
				got = append(got, w.Code)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("warnings are %v; want %v", got, tt.want)
			}
		})
	}
}

// TestTenantsTakeTurns has one tenant bring many videos and another
// bring one: its task runs second, not last.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	var want []queue.Task
	for range 3 {
		v := b.Processing(video.Draft{Resolutions: []video.Name{"240p"}})
		b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("240p")))
		want = append(want, queue.Task{Video: v.ID, Tenant: b.By.Tenant})
	}
	b.By.Tenant = "another"
	late := b.Processing(video.Draft{Resolutions: []video.Name{"240p"}})
	want = slices.Insert(want, 1, queue.Task{Video: late.ID, Tenant: "another"})

	ran := make(chan queue.Task, 100)
	b.Must(b.Queue.Start(t.Context(), queue.Encoding(1, func(_ context.Context, task queue.Task) error {
		ran <- task
		return nil
	})))
	for i, w := range want[:2] {
		if got := <-ran; got.Video != w.Video || got.Tenant != w.Tenant {
			t.Errorf("task %d is of video %s of tenant %q; want %s of %q", i, got.Video, got.Tenant, w.Video, w.Tenant)
		}
	}
	for range 3*4 + 1 - 2 { // the inspection, two chunks and the audio of each, and the late one's inspection
		if got := <-ran; got.Tenant == "" {
			t.Errorf("%v has no tenant", got)
		}
	}
}

func TestEqualOutputsShareOneRendition(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	p := servicetest.Plan("240p")
	p.Renditions[0].Names = []video.Name{"720p", "240p"}
	b.Transcode(v.ID, p)
	b.Publish(v.ID, 0)
	for _, file := range []string{"720p.mp4", "240p.mp4"} {
		o, err := b.OpenPublic(t.Context(), v.ID, file)
		b.Must(err)
		if got := servicetest.ReadAll(t, o); got != servicetest.Rendition {
			t.Errorf("%s = %q", file, got)
		}
	}
	if got := b.Video(v.ID).Status; got != video.Ready {
		t.Errorf("status = %s; want ready", got)
	}
}

func TestGiveUp(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: true})
	b.Must(b.StorePlan(ctx, v.ID, servicetest.Plan("720p", "240p")))
	f := video.Failf(video.Corrupt, "It is broken.")
	b.Must(b.GiveUpVideo(ctx, v.ID, f))
	got := b.Video(v.ID)
	if got.Status != video.Fail || *got.Failure != *f || *got.Resolutions[1].Failure != *f {
		t.Fatalf("video = %s %v; want fail with the reason everywhere", got.Status, got.Failure)
	}
	if n := b.Waiting(); n[queue.Encode] != 0 || n[queue.Audio] != 0 || n[queue.Purge] != 1 {
		t.Errorf("tasks = %v; want the purge alone", n)
	}
	for _, k := range []queue.Kind{queue.Encode, queue.Audio, queue.Assemble, queue.Inspect} {
		if _, wanted, err := b.LoadTask(ctx, queue.Task{Kind: k, Video: v.ID}); wanted || err != nil {
			t.Errorf("%s of a failed video is wanted = %t, %v", k, wanted, err)
		}
	}
}

func TestGiveUpKeepsWhatIsReady(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
	b.Publish(v.ID, 0)
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
	got := b.Video(v.ID)
	if got.Status != video.Ready || got.Failure != nil || got.Resolutions[0].Status != video.Ready || got.Resolutions[1].Status != video.Fail {
		t.Errorf("video = %s %v %s %s; want ready with one failed resolution", got.Status, got.Failure, got.Resolutions[0].Status, got.Resolutions[1].Status)
	}
}

func TestFailuresAreCountedAndThenGivenUp(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{})
	task := queue.Task{Kind: queue.Inspect, Video: v.ID}
	for i, want := range []bool{false, false, true} {
		if got, err := b.CountFailure(t.Context(), task, 3); got != want || err != nil {
			t.Errorf("fault %d: give up = %t, %v; want %t", i+1, got, err, want)
		}
	}
}

func TestThumbnails(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: true, Thumbnails: []float64{0, 1.5}})
	p := servicetest.Plan("720p", "240p")
	p.Thumbnails = []video.Thumbnail{{}, {}}
	b.Transcode(v.ID, p)
	_, err := b.OpenPublic(ctx, v.ID, "720p-1.jpg")
	servicetest.WantCode(t, err, video.NotFound, "not_ready")
	if n := b.Waiting()[queue.Assemble]; n != 0 {
		t.Errorf("%d assemblies queued before the thumbnails were there", n)
	}

	// One picture of the four could not be made.
	b.Must(b.PublishThumbnails(ctx, b.Video(v.ID), []pipeline.ThumbnailFile{
		{Rendition: 0, Thumbnail: 0, Path: b.File("a0")}, {Rendition: 0, Thumbnail: 1, Path: b.File("a1")}, {Rendition: 1, Thumbnail: 0, Path: b.File("b0")},
	}))
	if n := b.Waiting()[queue.Assemble]; n != 2 {
		t.Errorf("%d assemblies queued, want 2", n)
	}
	b.Publish(v.ID, 0)
	b.Publish(v.ID, 1)
	o, err := b.OpenPublic(ctx, v.ID, "720p-1.jpg")
	b.Must(err)
	if got := servicetest.ReadAll(t, o); got != "a1" {
		t.Errorf("720p-1.jpg = %q", got)
	}
	_, err = b.OpenPublic(ctx, v.ID, "240p-1.jpg")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
}
