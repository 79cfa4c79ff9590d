package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestAddResolution(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Measuring)
	v := b.Processing(video.Draft{IsPublic: true})
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 720p ready, 240p ready")

	s := b.Add(v.ID, "480p")
	if r := s.Resolutions[2]; s.Video.Status != video.Processing || r.Name != "480p" || r.ID == "" || r.Progress != 0 || s.Resolutions[0].Progress != 1 {
		t.Errorf("adding answers %s, %+v", s.Video.Status, s.Resolutions)
	}
	b.Add(v.ID, "480p") // the answer was lost
	b.WantStatuses(v.ID, "processing: 720p ready, 240p ready, 480p processing")
	if n := b.Waiting(); n[queue.Inspect] != 1 || n[queue.Measure] != 0 {
		t.Errorf("tasks = %v; want one inspection", n)
	}
	b.Must(b.Purge(t.Context(), v.ID)) // that of the first pass comes late
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 720p ready, 240p ready, 480p ready")
	b.Must(b.Purge(t.Context(), v.ID))
	folder := "public/" + string(v.ID) + "/"
	want := []string{folder + "240p.mp4", folder + "480p.mp4", folder + "720p.mp4", b.Video(v.ID).Source.Key}
	if keys := b.Objects(); !slices.Equal(keys, want) {
		t.Errorf("objects = %v; want %v", keys, want)
	}
}

func TestAddResolutionBeforeTheUpload(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Add(up.Video.ID, "240p")
	b.WantStatuses(up.Video.ID, "pending_upload: 720p pending_upload, 240p pending_upload")
	_, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	servicetest.WantCode(t, err, video.Unprocessable, "upload_missing")
	b.Add(up.Video.ID, "144p")
	b.WantStatuses(up.Video.ID, "fail: 720p fail, 240p fail, 144p fail")
	if r := b.Video(up.Video.ID).Resolutions[2]; r.Failure == nil || r.Failure.Code != video.UploadMissing {
		t.Errorf("the added resolution failed because of %v; want the reason of its video", r.Failure)
	}
	b.Put(up, servicetest.LikeVideo)
	_, err = b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	b.Must(err)
	b.Finish(up.Video.ID)
	b.WantStatuses(up.Video.ID, "ready: 720p ready, 240p ready, 144p ready")
}

// A running pass is not disturbed. The next begins at its end.
func TestAddResolutionToAVideoAtWork(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Transcode(v.ID, servicetest.Plan("720p"))
	s := b.Add(v.ID, "240p")
	if s.Resolutions[1].Progress != 0 || s.Resolutions[0].Progress == 0 {
		t.Errorf("progress = %v and %v; want none of the one that waits", s.Resolutions[0].Progress, s.Resolutions[1].Progress)
	}
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("240p"))) // by an inspection that nobody asked for
	if n := b.Waiting(); n[queue.Inspect] != 1 || n[queue.Assemble] != 1 || n[queue.Encode] != 2 {
		t.Errorf("tasks = %v; want those of the first pass only", n)
	}
	b.Must(b.Purge(t.Context(), v.ID))
	b.Publish(v.ID, 0)
	b.WantStatuses(v.ID, "processing: 720p ready, 240p processing")
	if n := b.Waiting(); n[queue.Inspect] != 1 || n[queue.Encode] != 0 {
		t.Errorf("tasks = %v; want the inspection of the second pass", n)
	}
	wantReconciled(b, map[queue.Kind]int{queue.Inspect: 1})
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 720p ready, 240p ready")
}

func TestDeletedResolutionIsAddedAgain(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{})
	b.Finish(v.ID)
	for _, r := range v.Resolutions {
		b.Must(b.DeleteResolution(t.Context(), b.By, r.ID))
	}
	b.Add(v.ID, "240p")
	b.WantStatuses(v.ID, "processing: 240p processing")
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 240p ready")
}

func TestDeletingAnAddedResolutionEndsItsPass(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Finish(v.ID)
	added := b.Add(v.ID, "240p").Resolutions[1]
	b.Must(b.DeleteResolution(t.Context(), b.By, added.ID))
	b.WantStatuses(v.ID, "ready: 720p ready")
	if n := b.Waiting(); n[queue.Inspect] != 0 {
		t.Errorf("tasks = %v; want no inspection", n)
	}
}

func TestRetryResolution(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{})
	b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
	b.Must(b.GiveUpVideo(ctx, v.ID, video.Failf(video.LimitTime, "It took too long.")))
	b.WantStatuses(v.ID, "fail: 720p fail, 240p fail")

	for range 2 { // once more, because the answer was lost
		s, err := b.Catalog.RetryResolution(ctx, b.By, v.Resolutions[1].ID)
		b.Must(err)
		if s.Video.Failure != nil || s.Resolutions[1].Failure != nil || s.Resolutions[0].Failure == nil {
			t.Errorf("failures are %v, %v, %v; want that of 720p", s.Video.Failure, s.Resolutions[0].Failure, s.Resolutions[1].Failure)
		}
	}
	b.WantStatuses(v.ID, "processing: 720p fail, 240p processing")
	wantReconciled(b, map[queue.Kind]int{queue.Inspect: 1})
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 720p fail, 240p ready")
	if _, err := b.Catalog.RetryResolution(ctx, b.By, v.Resolutions[1].ID); err != nil {
		t.Errorf("retry of a ready resolution = %v; want nothing to happen", err)
	}
	b.WantStatuses(v.ID, "ready: 720p fail, 240p ready")
}

// A file that could not be inspected has no plan.
func TestRetryAfterAFailedInspection(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"240p"}})
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
	_, err := b.Catalog.RetryResolution(t.Context(), b.By, v.Resolutions[0].ID)
	b.Must(err)
	b.Finish(v.ID)
	b.WantStatuses(v.ID, "ready: 240p ready")
}

func TestPassesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.KeepSource = false })
	ctx := t.Context()
	reader, other := b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}}), b.Actor(auth.Key{Tenant: "other"})
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	for by, want := range map[*auth.Actor]string{&reader: "insufficient_scope", &other: "video_not_found"} {
		if _, err := b.Catalog.AddResolution(ctx, *by, v.ID, "240p"); servicetest.CodeOf(err) != want {
			t.Errorf("AddResolution = %v; want %s", err, want)
		}
		want = strings.Replace(want, "video_", "resolution_", 1)
		if _, err := b.Catalog.RetryResolution(ctx, *by, v.Resolutions[0].ID); servicetest.CodeOf(err) != want {
			t.Errorf("RetryResolution = %v; want %s", err, want)
		}
	}
	up := b.Create(video.Draft{})
	_, _ = b.Uploads.Complete(ctx, b.By, up.Video.ID) // there is no upload
	if _, err := b.Catalog.RetryResolution(ctx, b.By, up.Video.Resolutions[0].ID); servicetest.CodeOf(err) != "upload_failed" {
		t.Errorf("RetryResolution without an upload = %v; want upload_failed", err)
	}
	b.Must(b.GiveUpVideo(ctx, v.ID, video.Failf(video.Corrupt, "It is broken.")))
	b.Must(b.Purge(ctx, v.ID))
	if _, err := b.Catalog.AddResolution(ctx, b.By, v.ID, "240p"); servicetest.CodeOf(err) != "source_gone" {
		t.Errorf("AddResolution without a source = %v; want source_gone", err)
	}
	if _, err := b.Catalog.RetryResolution(ctx, b.By, v.Resolutions[0].ID); servicetest.CodeOf(err) != "source_gone" {
		t.Errorf("RetryResolution without a source = %v; want source_gone", err)
	}
	b.WantStatuses(v.ID, "fail: 720p fail")
}
