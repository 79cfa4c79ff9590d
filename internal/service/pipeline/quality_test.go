package pipeline_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// Every way for a video to become ready queues its servicetest.Measuring, and none other.
func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(b *servicetest.Rig, v video.Video)
		want int
	}{
		{"a rendition that is ready", func(b *servicetest.Rig, v video.Video) { b.Publish(v.ID, 0); b.Publish(v.ID, 1) }, 1},
		{"not one that is half ready", func(b *servicetest.Rig, v video.Video) { b.Publish(v.ID, 0) }, 0},
		{"one of which a part was given up", func(b *servicetest.Rig, v video.Video) {
			b.Publish(v.ID, 0)
			b.Must(b.GiveUpVideo(b.T.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
		}, 1},
		{"not one that failed", func(b *servicetest.Rig, v video.Video) {
			b.Must(b.GiveUpVideo(b.T.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
		}, 0},
		{"one whose unfinished part was deleted", func(b *servicetest.Rig, v video.Video) {
			b.Publish(v.ID, 1)
			b.Must(b.DeleteResolution(b.T.Context(), b.By, v.Resolutions[0].ID))
		}, 1},
		{"not one that was deleted", func(b *servicetest.Rig, v video.Video) {
			b.Publish(v.ID, 0)
			b.Publish(v.ID, 1)
			b.Must(b.DeleteVideo(b.T.Context(), b.By, v.ID))
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t, servicetest.Measuring)
			v := b.Processing(video.Draft{IsPublic: true})
			b.Transcode(v.ID, servicetest.MeasuredPlan("720p", "240p"))
			tt.end(b, v)
			if n := b.Waiting()[queue.Measure]; n != tt.want {
				t.Errorf("%d measurements queued; want %d", n, tt.want)
			}
			_, wanted, err := b.LoadTask(t.Context(), queue.Task{Kind: queue.Measure, Video: v.ID})
			if err != nil || wanted != (tt.want == 1) {
				t.Errorf("measuring is wanted: %t, %v; want %t", wanted, err, tt.want == 1)
			}
		})
	}
	b := servicetest.New(t) // not set to measure
	if b.Ready(servicetest.MeasuredPlan("720p", "240p")); b.Waiting()[queue.Measure] != 0 {
		t.Error("a measurement is queued though nobody wants any")
	}
	b = servicetest.New(t, servicetest.Measuring)
	if b.Ready(servicetest.Plan("720p", "240p")); b.Waiting()[queue.Measure] != 0 {
		t.Error("a measurement is queued though there is nothing to compare")
	}
}

func TestTheSourceIsKeptUntilItWasMeasured(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		b := servicetest.New(t, servicetest.Measuring, func(c *servicetest.Config) { c.KeepSource = false })
		ctx := t.Context()
		v := b.Ready(servicetest.MeasuredPlan("720p", "240p"))
		b.Must(b.Purge(ctx, v.ID))
		renditions := []string{"public/" + string(v.ID) + "/240p.mp4", "public/" + string(v.ID) + "/720p.mp4"}
		if keys, want := b.Objects(), append(slices.Clone(renditions), v.Source.Key); !slices.Equal(keys, want) {
			t.Fatalf("objects before measuring are %v; want %v", keys, want)
		}
		before := b.Waiting()[queue.Purge]
		if skip {
			b.Must(b.Skip(ctx, queue.Task{Kind: queue.Measure, Video: v.ID}))
		} else {
			b.Must(b.StoreQuality(ctx, v.ID, nil))
		}
		b.Must(b.StoreQuality(ctx, v.ID, nil)) // the same task, delivered twice
		if n := b.Waiting()[queue.Purge]; n != before+1 {
			t.Errorf("%d purges queued by measuring; want 1", n-before)
		}
		b.Must(b.Purge(ctx, v.ID))
		if keys := b.Objects(); !slices.Equal(keys, renditions) {
			t.Errorf("objects after measuring are %v; want %v", keys, renditions)
		}
	}
}

func TestFailuresOfMeasuringAreCounted(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Measuring)
	v := b.Ready(servicetest.MeasuredPlan("720p", "240p"))
	task := queue.Task{Kind: queue.Measure, Video: v.ID}
	for i, want := range []bool{false, false, true} {
		if got, err := b.CountFailure(t.Context(), task, 3); got != want || err != nil {
			t.Errorf("fault %d: give up = %t, %v; want %t", i+1, got, err, want)
		}
	}
	if wanted, err := b.Progress(t.Context(), task, 0.5); !wanted || err != nil {
		t.Errorf("progress is wanted: %t, %v", wanted, err)
	}
	b.Must(b.Skip(t.Context(), queue.Task{Kind: queue.Measure, Video: v.ID}))
	if got := b.Video(v.ID); got.Status != video.Ready || got.Failure != nil {
		t.Errorf("video = %s, %v; want it ready as before", got.Status, got.Failure)
	}
	if wanted, err := b.Progress(t.Context(), task, 0.6); wanted || err != nil {
		t.Errorf("progress is still wanted: %t, %v", wanted, err)
	}
}
