package app_test

import (
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// A worker that slept, or just lost a race with somebody who wants more of a video,
// tells of trouble with a task that nobody wants any more. That must not keep the
// video at work for ever.
func TestTroubleWithStaleTasksIsNotCounted(t *testing.T) {
	t.Parallel()
	trouble := func(b *bench, id video.ID, k queue.Kind) {
		b.t.Helper()
		if giveUp, err := b.Fault(b.t.Context(), queue.Task{Kind: k, Video: id, Number: 0}, 1); giveUp || err != nil {
			b.t.Errorf("the fault of a stale task = %t, %v; want it not to count", giveUp, err)
		}
	}
	t.Run("a comparison, when a resolution was added", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, measuring)
		v := b.ready(measured("720p", "240p"))
		b.add(v.ID, "480p")
		trouble(b, v.ID, queue.Measure)
		b.finish(v.ID)
		b.wantStatuses(v.ID, "ready: 720p ready, 240p ready, 480p ready")
	})
	t.Run("a chunk, when its resolution is tried again", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
		b.must(b.Planned(t.Context(), v.ID, plan("720p")))
		b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.LimitTime, "It took too long.")))
		_, err := b.RetryResolution(t.Context(), b.by, v.Resolutions[0].ID)
		b.must(err)
		trouble(b, v.ID, queue.Encode)
		b.finish(v.ID)
		b.wantStatuses(v.ID, "ready: 720p ready")
	})
	t.Run("an inspection, when the plan is there", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
		b.must(b.Planned(t.Context(), v.ID, plan("720p")))
		trouble(b, v.ID, queue.Inspect)
		b.transcode(v.ID, plan("720p"))
		if n := b.waiting(); n[queue.Assemble] != 1 {
			t.Errorf("tasks = %v; want the film to be assembled", n)
		}
	})
}

// Binaries from before counted them, and may run beside this one.
func TestRowsThatStaleTasksLeftHoldNothingUp(t *testing.T) {
	t.Parallel()
	for _, k := range []queue.Kind{queue.Inspect, queue.Measure, queue.Encode} {
		for _, before := range []bool{true, false} {
			if k == queue.Encode && !before {
				continue
			}
			b := newBench(t)
			v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
			leave := func() {
				b.must(b.store.InTx(t.Context(), func(tx *store.Tx) error {
					_, err := tx.CountFault(t.Context(), v.ID, string(k), 7)
					return err
				}))
			}
			if before {
				leave()
			}
			b.must(b.Planned(t.Context(), v.ID, plan("720p")))
			if !before {
				leave()
			}
			b.transcode(v.ID, plan("720p"))
			b.add(v.ID, "240p")
			b.wantRescued(map[queue.Kind]int{queue.Assemble: 1})
			b.publish(v.ID, 0)
			b.finish(v.ID)
			b.wantStatuses(v.ID, "ready: 720p ready, 240p ready")
		}
	}
}

// A worker that was thought dead comes back with a task that another has done.
func TestAStaleTaskGivesNothingUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.transcode(v.ID, plan("720p"))
	for _, k := range []queue.Kind{queue.Inspect, queue.Encode} {
		b.must(b.App.GiveUp(t.Context(), queue.Task{Kind: k, Video: v.ID}, video.Failf(video.Corrupt, "It is broken.")))
	}
	b.publish(v.ID, 0)
	b.wantStatuses(v.ID, "ready: 720p ready")
}
