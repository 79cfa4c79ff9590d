package app_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func TestAPurgeRemovesWhatATaskLeftAfterTheDeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	b.must(b.DeleteVideo(t.Context(), b.by, v.ID))
	piece := "work/" + string(v.ID) + "/chunk-0-0.mp4"
	if _, err := b.blobs.Put(t.Context(), piece, strings.NewReader("late")); err != nil {
		t.Fatal(err)
	}

	_, wanted, err := b.Working(t.Context(), queue.Task{Kind: queue.Purge, Video: v.ID})
	if err != nil || !wanted {
		t.Errorf("the purge of a video that is gone is wanted: %t, %v; want true", wanted, err)
	}
	b.must(b.Purge(t.Context(), v.ID))
	if keys := b.keys(); len(keys) != 0 {
		t.Errorf("objects left: %v", keys)
	}
}

func TestAPurgeKeepsTheVerifiedSourceAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	stray := "source/" + string(v.ID) + "/stray"
	if _, err := b.blobs.Put(t.Context(), stray, strings.NewReader("of a complete-upload that was cut short")); err != nil {
		t.Fatal(err)
	}
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.must(b.Purge(t.Context(), v.ID))
	source := b.video(v.ID).Source.Key
	if keys := b.keys(); !slices.Equal(keys, []string{source}) {
		t.Errorf("objects %v; want the source %s alone", keys, source)
	}
}

// A data directory restored from a backup holds the same files as other inodes.
func TestARestoredSourceIsTheSameSource(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.video(b.processing(video.Draft{}).ID)
	restore := func(content string) error {
		if _, err := b.blobs.Put(t.Context(), v.Source.Key, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		return b.FetchSource(t.Context(), v, filepath.Join(t.TempDir(), "source"))
	}
	if err := restore(string(beginsLikeVideo)); err != nil {
		t.Errorf("FetchSource of a restored file = %v", err)
	}
	if err := restore("half of it"); !errors.Is(err, app.ErrSourceGone) {
		t.Errorf("FetchSource of another file = %v; want ErrSourceGone", err)
	}
	b.must(b.blobs.Delete(t.Context(), v.Source.Key))
	if err := b.FetchSource(t.Context(), v, filepath.Join(t.TempDir(), "source")); !errors.Is(err, app.ErrSourceGone) {
		t.Errorf("FetchSource without a file = %v; want ErrSourceGone", err)
	}
}

// A client that leaves in the middle of a deletion does not stop it.
func TestADeletionGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		b := newBench(t)
		v := b.processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"240p"}})
		b.transcode(v.ID, plan("240p"))
		b.publish(v.ID, 0)
		ctx, leave := context.WithCancel(t.Context())
		b.reached = func(p app.Point) {
			if p == app.VideoCondemned || p == app.ResolutionGone {
				leave()
			}
		}
		if whole {
			b.must(b.DeleteVideo(ctx, b.by, v.ID))
		} else {
			b.must(b.DeleteResolution(ctx, b.by, v.Resolutions[0].ID))
		}
		if ctx.Err() == nil {
			t.Fatal("the client has not left")
		}
		_, err := b.OpenPublic(t.Context(), v.ID, "240p.mp4")
		wantCode(t, err, video.NotFound, "not_found")
	}
}

// A deletion whose second half failed is finished by the task it has queued.
func TestAPurgeRemovesTheFilesOfADeletedResolution(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	b.transcode(v.ID, plan("720p", "240p"))
	b.publish(v.ID, 0)
	b.publish(v.ID, 1)
	b.must(b.DeleteResolution(t.Context(), b.by, v.Resolutions[0].ID))
	if n := b.waiting()[queue.Purge]; n != 2 {
		t.Errorf("%d purges queued; want one after the work and one after the deletion", n)
	}
	left := "public/" + string(v.ID) + "/720p.mp4"
	if _, err := b.blobs.Put(t.Context(), left, strings.NewReader("still there")); err != nil {
		t.Fatal(err)
	}
	b.must(b.Purge(t.Context(), v.ID))
	want := []string{"public/" + string(v.ID) + "/240p.mp4", b.video(v.ID).Source.Key}
	if keys := b.keys(); !slices.Equal(keys, want) {
		t.Errorf("objects = %v; want %v", keys, want)
	}
}

func TestNothingIsWrittenToAFinishedVideo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{})
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.must(b.Planned(t.Context(), v.ID, plan("720p", "240p")))
	if giveUp, err := b.Fault(t.Context(), queue.Task{Kind: queue.Encode, Video: v.ID}, 1); giveUp || err != nil {
		t.Errorf("Fault = %t, %v; want nothing to give up", giveUp, err)
	}
	steps, err := b.store.Steps(t.Context(), v.ID)
	if b.must(err); len(steps) != 0 {
		t.Errorf("steps of a failed video: %v", steps)
	}
	if n := b.waiting()[queue.Encode]; n != 0 {
		t.Errorf("%d encodes queued for a failed video", n)
	}
}

func TestTheFilmOfAFailedResolutionIsNobodys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	film := "public/" + string(v.ID) + "/720p.mp4"
	if _, err := b.blobs.Put(t.Context(), film, strings.NewReader("published, but not recorded")); err != nil {
		t.Fatal(err)
	}
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.must(b.Purge(t.Context(), v.ID))
	if slices.Contains(b.keys(), film) {
		t.Error("the film of a failed resolution can be played")
	}
}

func TestAClientMayRefuseUpscaling(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, want := range []bool{true, false} {
		if got := b.create(video.Draft{Upscale: &want}).Video.Upscale; got != want {
			t.Errorf("upscale asked for as %t is %t", want, got)
		}
	}
	if b.create(video.Draft{}).Video.Upscale {
		t.Error("upscaling without anybody asking for it")
	}
}
