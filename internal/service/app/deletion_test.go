package app_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func TestDeleteVideoAtEveryStage(t *testing.T) {
	t.Parallel()
	stages := []struct {
		name  string
		reach func(b *bench) video.ID
	}{
		{"created", func(b *bench) video.ID { return b.create(video.Draft{IsPublic: true}).Video.ID }},
		{"uploaded", func(b *bench) video.ID {
			up := b.create(video.Draft{IsPublic: true})
			b.put(up, beginsLikeVideo)
			return up.Video.ID
		}},
		{"accepted", func(b *bench) video.ID { return b.processing(video.Draft{IsPublic: true}).ID }},
		{"encoded", func(b *bench) video.ID {
			v := b.processing(video.Draft{IsPublic: true})
			b.transcode(v.ID, plan("720p", "240p"))
			return v.ID
		}},
		{"half published", func(b *bench) video.ID {
			v := b.processing(video.Draft{IsPublic: true})
			b.transcode(v.ID, plan("720p", "240p"))
			b.publish(v.ID, 0)
			return v.ID
		}},
	}
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := s.reach(b)
			b.must(b.DeleteVideo(t.Context(), b.by, id))

			_, err := b.PublicVideo(t.Context(), b.by, id, base)
			wantCode(t, err, video.NotFound, "video_not_found")
			_, err = b.OpenPublic(t.Context(), id, "720p.mp4")
			wantCode(t, err, video.NotFound, "not_found")
			wantCode(t, b.DeleteVideo(t.Context(), b.by, id), video.NotFound, "video_not_found")
			if keys := b.keys(); len(keys) != 0 {
				t.Errorf("objects left: %v", keys)
			}
			if n := b.waiting(); n[queue.Inspect]+n[queue.Encode]+n[queue.Audio]+n[queue.Assemble] != 0 {
				t.Errorf("tasks left: %v", n)
			}
		})
	}
}

func TestWorkThatEndsAfterADeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	v := b.processing(video.Draft{IsPublic: true})
	b.must(b.Planned(ctx, v.ID, plan("720p", "240p")))
	b.must(b.DeleteVideo(ctx, b.by, v.ID))

	b.must(b.FinishChunk(ctx, v.ID, 0, []app.PieceFile{{Path: b.file("late"), Frames: 1}}))
	b.must(b.FinishAudio(ctx, v.ID, b.file("late")))
	b.must(b.PublishFilm(ctx, v.ID, 0, app.Film{Path: b.file("late")}))
	b.must(b.PublishThumbnails(ctx, v.ID, []app.ThumbnailFile{{Path: b.file("late")}}))
	b.must(b.GiveUp(ctx, v.ID, video.Failf(video.Corrupt, "Too late.")))
	if keys := b.keys(); len(keys) != 0 {
		t.Errorf("objects left: %v", keys)
	}
	if wanted, err := b.Progress(ctx, queue.Task{Kind: queue.Encode, Video: v.ID}, 0.5); wanted || err != nil {
		t.Errorf("progress of a deleted video is wanted = %t, %v", wanted, err)
	}
}

// A deletion and a publication race: whoever comes first, no file can be played
// once the deletion has been confirmed.
func TestDeletionBeatsPublication(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 20 {
		v := b.processing(video.Draft{IsPublic: true})
		b.transcode(v.ID, plan("720p", "240p"))
		film := app.Film{Path: b.file("the film")}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.PublishFilm(t.Context(), v.ID, 0, film); err != nil && !strings.Contains(err.Error(), "no such file") {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := b.DeleteVideo(t.Context(), b.by, v.ID); err != nil {
				t.Error(err)
			}
			if o, err := b.OpenPublic(t.Context(), v.ID, "720p.mp4"); err == nil {
				o.Close()
				t.Error("the film can be played after its deletion")
			}
		})
		wg.Wait()
	}
	report, err := b.Sweep(t.Context())
	b.must(err)
	if keys := b.keys(); len(keys) != 0 {
		t.Errorf("after a sweep (%+v) objects are left: %v", report, keys)
	}
}

func TestDeletionThatWasCutShortIsFinished(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"task", "housekeeping"} {
		b := newBench(t)
		v := b.processing(video.Draft{IsPublic: true})
		b.transcode(v.ID, plan("720p", "240p"))
		b.publish(v.ID, 0)
		// What a crash right after the first transaction leaves behind.
		b.must(b.store.InTx(t.Context(), func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), v.ID, b.now()) }))
		_, err := b.PublicVideo(t.Context(), b.by, v.ID, base)
		wantCode(t, err, video.NotFound, "video_not_found")
		if how == "task" {
			b.must(b.Purge(t.Context(), v.ID))
		} else {
			b.must(b.FinishDeletions(t.Context()))
		}
		if keys := b.keys(); len(keys) != 0 {
			t.Errorf("%s left %v", how, keys)
		}
		if _, err := b.store.Video(context.Background(), v.ID); video.KindOf(err) != video.NotFound {
			t.Errorf("%s left the row: %v", how, err)
		}
	}
}

func TestDeleteResolution(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	v := b.processing(video.Draft{IsPublic: true})
	b.transcode(v.ID, plan("720p", "240p"))
	b.publish(v.ID, 0)

	// 240p is unfinished: without it, all that is left is ready.
	b.must(b.DeleteResolution(ctx, b.by, v.Resolutions[1].ID))
	w, err := b.PublicVideo(ctx, b.by, v.ID, base)
	b.must(err)
	if w.Video.Status != video.Ready || len(w.Resolutions) != 1 {
		t.Fatalf("video = %s with %d resolutions; want ready with 720p", w.Video.Status, len(w.Resolutions))
	}
	b.must(b.PublishFilm(ctx, v.ID, 1, app.Film{Path: b.file("late")})) // its worker was just about to finish
	_, err = b.OpenPublic(ctx, v.ID, "240p.mp4")
	wantCode(t, err, video.NotFound, "not_found")
	wantCode(t, b.DeleteResolution(ctx, b.by, v.Resolutions[1].ID), video.NotFound, "resolution_not_found")

	b.must(b.DeleteResolution(ctx, b.by, v.Resolutions[0].ID))
	w, err = b.PublicVideo(ctx, b.by, v.ID, base)
	b.must(err)
	if w.Video.Status != video.Ready || len(w.Resolutions) != 0 {
		t.Errorf("video = %s with %d resolutions; want ready with none", w.Video.Status, len(w.Resolutions))
	}
	b.must(b.Purge(ctx, v.ID))
	if keys := b.keys(); !slices.Equal(keys, []string{b.video(v.ID).Source.Key}) {
		t.Errorf("objects = %v; want the source alone", keys)
	}
}

func TestDeletingEveryResolutionInWorkEndsTheWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	b.must(b.Planned(t.Context(), v.ID, plan("720p", "240p")))
	for _, r := range v.Resolutions {
		b.must(b.DeleteResolution(t.Context(), b.by, r.ID))
	}
	if got := b.video(v.ID); got.Status != video.Fail || got.Failure == nil {
		t.Errorf("video = %s %v; want fail with a reason", got.Status, got.Failure)
	}
	if n := b.waiting(); n[queue.Encode]+n[queue.Audio] != 0 {
		t.Errorf("tasks left: %v", n)
	}
}

func TestSweepRemovesOrphansAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	up := b.create(video.Draft{})
	b.put(up, beginsLikeVideo)
	v := b.processing(video.Draft{IsPublic: true, Thumbnails: []float64{0}})
	b.transcode(v.ID, plan("720p", "240p"))
	b.publish(v.ID, 0)
	owned := b.keys()

	gone := "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	orphans := []string{
		"upload/" + gone + "/file", "source/" + gone + "/x", "work/" + gone + "/chunk-0-0.mp4", "public/" + gone + "/720p.mp4", "private/" + gone + "/720p.mp4",
		"upload/" + string(v.ID) + "/file",      // completed: nobody reads it again
		"source/" + string(v.ID) + "/other",     // a copy whose complete-upload lost the race
		"public/" + string(v.ID) + "/1080p.mp4", // a resolution that was deleted
		"public/" + string(v.ID) + "/720p-1.jpg",
		"private/" + string(v.ID) + "/720p.mp4", // the wrong side
	}
	for _, key := range orphans {
		_, err := b.blobs.Put(ctx, key, strings.NewReader("x"))
		b.must(err)
	}
	report, err := b.Sweep(ctx)
	b.must(err)
	if report.Removed != len(orphans) || !slices.Equal(b.keys(), owned) {
		t.Errorf("sweep %+v left %v; want %v", report, b.keys(), owned)
	}
}
