package pipeline_test

import (
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestNothingIsWrittenToAFinishedVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{})
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p", "240p")))
	if giveUp, err := b.CountFailure(t.Context(), queue.Task{Kind: queue.Encode, Video: v.ID}, 1); giveUp || err != nil {
		t.Errorf("Fault = %t, %v; want nothing to give up", giveUp, err)
	}
	steps, err := b.Store.Steps(t.Context(), v.ID)
	if b.Must(err); len(steps) != 0 {
		t.Errorf("steps of a failed video: %v", steps)
	}
	if n := b.Waiting()[queue.Encode]; n != 0 {
		t.Errorf("%d encodes queued for a failed video", n)
	}
}

// A worker that slept, or just lost a race with somebody who wants more of a video,
// reports a failure of a task that nobody wants any more. That must not keep the
// video at work for ever.
func TestFailuresOfStaleTasksAreNotCounted(t *testing.T) {
	t.Parallel()
	failure := func(b *servicetest.Rig, id video.ID, k queue.Kind) {
		b.T.Helper()
		if giveUp, err := b.CountFailure(b.T.Context(), queue.Task{Kind: k, Video: id, Number: 0}, 1); giveUp || err != nil {
			b.T.Errorf("the fault of a stale task = %t, %v; want it not to count", giveUp, err)
		}
	}
	t.Run("a comparison, when a resolution was added", func(t *testing.T) {
		t.Parallel()
		b := servicetest.New(t, servicetest.Measuring)
		v := b.Ready(servicetest.MeasuredPlan("720p", "240p"))
		b.Add(v.ID, "480p")
		failure(b, v.ID, queue.Measure)
		b.Finish(v.ID)
		b.WantStatuses(v.ID, "ready: 720p ready, 240p ready, 480p ready")
	})
	t.Run("a chunk, when its resolution is tried again", func(t *testing.T) {
		t.Parallel()
		b := servicetest.New(t)
		v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
		b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p")))
		b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.LimitTime, "It took too long.")))
		_, err := b.Catalog.RetryResolution(t.Context(), b.By, v.Resolutions[0].ID)
		b.Must(err)
		failure(b, v.ID, queue.Encode)
		b.Finish(v.ID)
		b.WantStatuses(v.ID, "ready: 720p ready")
	})
	t.Run("an inspection, when the plan is there", func(t *testing.T) {
		t.Parallel()
		b := servicetest.New(t)
		v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
		b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p")))
		failure(b, v.ID, queue.Inspect)
		b.Transcode(v.ID, servicetest.Plan("720p"))
		if n := b.Waiting(); n[queue.Assemble] != 1 {
			t.Errorf("tasks = %v; want the rendition to be assembled", n)
		}
	})
}

// Binaries from before counted them, and may run beside this one.
func TestStepsOfStaleTasksBlockNothing(t *testing.T) {
	t.Parallel()
	for _, k := range []queue.Kind{queue.Inspect, queue.Measure, queue.Encode} {
		for _, before := range []bool{true, false} {
			if k == queue.Encode && !before {
				continue
			}
			b := servicetest.New(t)
			v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
			leave := func() {
				b.Must(b.Store.InTx(t.Context(), func(tx *store.Tx) error {
					_, err := tx.CountFault(t.Context(), v.ID, string(k), 7)
					return err
				}))
			}
			if before {
				leave()
			}
			b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p")))
			if !before {
				leave()
			}
			b.Transcode(v.ID, servicetest.Plan("720p"))
			b.Add(v.ID, "240p")
			wantReconciled(b, map[queue.Kind]int{queue.Assemble: 1})
			b.Publish(v.ID, 0)
			b.Finish(v.ID)
			b.WantStatuses(v.ID, "ready: 720p ready, 240p ready")
		}
	}
}

// A worker that was thought dead comes back with a task that another has done.
func TestAStaleTaskGivesNothingUp(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Transcode(v.ID, servicetest.Plan("720p"))
	for _, k := range []queue.Kind{queue.Inspect, queue.Encode} {
		b.Must(b.Tasks.GiveUp(t.Context(), queue.Task{Kind: k, Video: v.ID}, video.Failf(video.Corrupt, "It is broken.")))
	}
	b.Publish(v.ID, 0)
	b.WantStatuses(v.ID, "ready: 720p ready")
}
