package janitor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestAPurgeRemovesWhatATaskLeftAfterTheDeletion(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	chunk := "work/" + string(v.ID) + "/chunk-0-0.mp4"
	if _, err := b.Blobs.Put(t.Context(), chunk, strings.NewReader("late")); err != nil {
		t.Fatal(err)
	}

	_, wanted, err := b.LoadTask(t.Context(), queue.Task{Kind: queue.Purge, Video: v.ID})
	if err != nil || !wanted {
		t.Errorf("the purge of a video that is gone is wanted: %t, %v; want true", wanted, err)
	}
	b.Must(b.Purge(t.Context(), v.ID))
	if keys := b.Objects(); len(keys) != 0 {
		t.Errorf("objects left: %v", keys)
	}
}

func TestAPurgeKeepsTheVerifiedSourceAlone(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	stray := "source/" + string(v.ID) + "/stray"
	if _, err := b.Blobs.Put(t.Context(), stray, strings.NewReader("of a complete-upload that was cut short")); err != nil {
		t.Fatal(err)
	}
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.Must(b.Purge(t.Context(), v.ID))
	source := b.Video(v.ID).Source.Key
	if keys := b.Objects(); !slices.Equal(keys, []string{source}) {
		t.Errorf("objects %v; want the source %s alone", keys, source)
	}
}

// Later tasks, such as a variant that is tried again, read the picture instead of the source.
func TestThePictureOfASoundFileIsKeptAsLongAsTheSource(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{true, false} {
		b := servicetest.New(t, func(c *servicetest.Config) { c.KeepSource = keep })
		v := b.Processing(video.Draft{IsPublic: true})
		still := objects.Still(v.Folder())
		if _, err := b.Blobs.Put(t.Context(), still, strings.NewReader("a picture")); err != nil {
			t.Fatal(err)
		}
		b.Must(b.Purge(t.Context(), v.ID))
		if !slices.Contains(b.Objects(), still) {
			t.Error("the picture is gone while the video is processed")
		}
		b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
		b.Must(b.Purge(t.Context(), v.ID))
		if kept := slices.Contains(b.Objects(), still); kept != keep {
			t.Errorf("keep_source is %t, and the picture is kept: %t", keep, kept)
		}
	}
}

// A deletion whose second half failed is finished by the task it has queued.
func TestAPurgeRemovesTheFilesOfADeletedResolution(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
	b.Publish(v.ID, 0)
	b.Publish(v.ID, 1)
	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[0].ID))
	if n := b.Waiting()[queue.Purge]; n != 2 {
		t.Errorf("%d purges queued; want one after the work and one after the deletion", n)
	}
	left := "public/" + string(v.ID) + "/720p.mp4"
	if _, err := b.Blobs.Put(t.Context(), left, strings.NewReader("still there")); err != nil {
		t.Fatal(err)
	}
	b.Must(b.Purge(t.Context(), v.ID))
	want := []string{"public/" + string(v.ID) + "/240p.mp4", b.Video(v.ID).Source.Key}
	if keys := b.Objects(); !slices.Equal(keys, want) {
		t.Errorf("objects = %v; want %v", keys, want)
	}
}

func TestTheFileOfAFailedResolutionIsRemoved(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	rendition := "public/" + string(v.ID) + "/720p.mp4"
	if _, err := b.Blobs.Put(t.Context(), rendition, strings.NewReader("published, but not recorded")); err != nil {
		t.Fatal(err)
	}
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.Must(b.Purge(t.Context(), v.ID))
	if slices.Contains(b.Objects(), rendition) {
		t.Error("the rendition of a failed resolution can be played")
	}
}

func TestAbandonedUploadsExpire(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	b.Put(up, servicetest.LikeVideo)
	kept := b.Processing(video.Draft{})

	b.Advance(25*time.Hour - time.Second)
	if n, err := b.ExpireUploads(t.Context()); n != 0 || err != nil {
		t.Fatalf("ExpireUploads a second early = %d, %v", n, err)
	}
	b.Advance(2 * time.Second)
	if n, err := b.ExpireUploads(t.Context()); n != 1 || err != nil {
		t.Fatalf("ExpireUploads = %d, %v; want 1", n, err)
	}
	if v := b.Video(up.Video.ID); v.Status != video.Fail || v.Failure.Code != video.UploadExpired {
		t.Errorf("video = %s %v; want fail, upload_expired", v.Status, v.Failure)
	}
	if keys := b.Objects(); !slices.Equal(keys, []string{b.Video(kept.ID).Source.Key}) {
		t.Errorf("objects = %v; want the other video's source alone", keys)
	}
	_, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Code != string(video.UploadExpired) {
		t.Errorf("Complete after expiry = %v; want upload_expired", err)
	}
}
