package app_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// What waits for its own round was not tried yet, so it does not fail with the
// round under way.
func TestAResolutionThatWaitsOutlivesTheRoundBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"8k"}})
	b.must(b.Planned(t.Context(), v.ID, plan("8k")))
	b.add(v.ID, "240p")
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.LimitMemory, "It takes too much memory.")))
	b.wantStatuses(v.ID, "processing: 8k fail, 240p processing")
	b.wantRescued(map[queue.Kind]int{queue.Inspect: 1})
	s, err := b.VideoState(t.Context(), b.by, v.ID)
	b.must(err)
	if s.Video.Failure != nil || s.Resolutions[1].Failure != nil {
		t.Errorf("failures are %v and %v; want none of what goes on", s.Video.Failure, s.Resolutions[1].Failure)
	}
	b.transcode(v.ID, plan("240p"))
	if s, err = b.VideoState(t.Context(), b.by, v.ID); err != nil || s.Resolutions[0].Progress != 0 || s.Resolutions[1].Progress == 0 {
		t.Errorf("progress = %v and %v, %v; want none of the one that failed", s.Resolutions[0].Progress, s.Resolutions[1].Progress, err)
	}
	b.publish(v.ID, 1)
	b.wantStatuses(v.ID, "ready: 8k fail, 240p ready")
}

// A later round takes back nothing of what is known about the films of the first.
func TestWarningsOutliveTheirRound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.must(b.Planned(t.Context(), v.ID, plan("720p")))
	for chunk := range 2 {
		b.must(b.FinishChunk(t.Context(), v.ID, chunk, []app.PieceFile{{Path: b.file("piece"), Frames: 5}}))
	}
	b.must(b.SkipAudio(t.Context(), v.ID))
	b.publish(v.ID, 0)
	silent := b.video(v.ID).Warnings
	if len(silent) != 1 {
		t.Fatalf("warnings = %v; want that the film is silent", silent)
	}
	b.add(v.ID, "240p")
	b.must(b.Planned(t.Context(), v.ID, plan("240p")))
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.LimitTime, "It took too long.")))
	if got := b.video(v.ID).Warnings; !slices.Equal(got, silent) {
		t.Errorf("warnings = %v; want %v as before", got, silent)
	}
	b.add(v.ID, "144p")
	b.finish(v.ID) // with sound
	if got := b.video(v.ID).Warnings; !slices.Equal(got, silent) {
		t.Errorf("warnings = %v; want %v, which is still true of one film", got, silent)
	}
}

// Nobody waits for a round all of whose resolutions were deleted.
func TestDeletingAllOfARoundBeginsTheNext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"8k", "720p"}})
	b.must(b.Planned(t.Context(), v.ID, plan("8k", "720p")))
	b.add(v.ID, "240p")
	b.must(b.DeleteResolution(t.Context(), b.by, v.Resolutions[0].ID))
	if n := b.waiting(); n[queue.Encode] != 2 {
		t.Errorf("tasks = %v; want the round to go on for 720p", n)
	}
	b.must(b.DeleteResolution(t.Context(), b.by, v.Resolutions[1].ID))
	if n := b.waiting(); n[queue.Encode] != 0 || n[queue.Inspect] != 1 {
		t.Errorf("tasks = %v; want the round of 240p to begin", n)
	}
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 240p ready")
}
