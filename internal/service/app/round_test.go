package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// wantStatuses compares a video and its resolutions with words such as
// "processing: 720p ready, 240p processing".
func (b *bench) wantStatuses(id video.ID, want string) {
	b.t.Helper()
	v := b.video(id)
	var each []string
	for _, r := range v.Resolutions {
		each = append(each, fmt.Sprintf("%s %s", r.Name, r.Status))
	}
	if got := fmt.Sprintf("%s: %s", v.Status, strings.Join(each, ", ")); got != want {
		b.t.Errorf("the video is %q; want %q", got, want)
	}
}

// add adds a resolution that is allowed.
func (b *bench) add(id video.ID, name video.Name) app.State {
	b.t.Helper()
	s, err := b.AddResolution(b.t.Context(), b.by, id, name)
	b.must(err)
	return s
}

// finish plays the part of the workers from the inspection to the end, for the
// resolutions that wait for it.
func (b *bench) finish(id video.ID) {
	b.t.Helper()
	v := b.video(id)
	p := plan(v.Unplanned()...)
	b.transcode(id, p)
	for r := range p.Renditions {
		b.publish(id, b.video(id).Plan.First+r)
	}
}

func TestAddResolution(t *testing.T) {
	t.Parallel()
	b := newBench(t, measuring)
	v := b.processing(video.Draft{IsPublic: true})
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 720p ready, 240p ready")

	s := b.add(v.ID, "480p")
	if r := s.Resolutions[2]; s.Video.Status != video.Processing || r.Name != "480p" || r.ID == "" || r.Progress != 0 || s.Resolutions[0].Progress != 1 {
		t.Errorf("adding answers %s, %+v", s.Video.Status, s.Resolutions)
	}
	b.add(v.ID, "480p") // the answer was lost
	b.wantStatuses(v.ID, "processing: 720p ready, 240p ready, 480p processing")
	if n := b.waiting(); n[queue.Inspect] != 1 || n[queue.Measure] != 0 {
		t.Errorf("tasks = %v; want one inspection", n)
	}
	b.must(b.Purge(t.Context(), v.ID)) // that of the first round comes late
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 720p ready, 240p ready, 480p ready")
	b.must(b.Purge(t.Context(), v.ID))
	folder := "public/" + string(v.ID) + "/"
	want := []string{folder + "240p.mp4", folder + "480p.mp4", folder + "720p.mp4", b.video(v.ID).Source.Key}
	if keys := b.keys(); !slices.Equal(keys, want) {
		t.Errorf("objects = %v; want %v", keys, want)
	}
}

func TestAddResolutionBeforeTheUpload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	up := b.create(video.Draft{Resolutions: []video.Name{"720p"}})
	b.add(up.Video.ID, "240p")
	b.wantStatuses(up.Video.ID, "pending_upload: 720p pending_upload, 240p pending_upload")
	_, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	wantCode(t, err, video.Unprocessable, "upload_missing")
	b.add(up.Video.ID, "144p")
	b.wantStatuses(up.Video.ID, "fail: 720p fail, 240p fail, 144p fail")
	if r := b.video(up.Video.ID).Resolutions[2]; r.Failure == nil || r.Failure.Code != video.UploadMissing {
		t.Errorf("the added resolution failed because of %v; want the reason of its video", r.Failure)
	}
	b.put(up, beginsLikeVideo)
	_, err = b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	b.must(err)
	b.finish(up.Video.ID)
	b.wantStatuses(up.Video.ID, "ready: 720p ready, 240p ready, 144p ready")
}

// A round that is under way is not disturbed. The next begins at its end.
func TestAddResolutionToAVideoAtWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.transcode(v.ID, plan("720p"))
	s := b.add(v.ID, "240p")
	if s.Resolutions[1].Progress != 0 || s.Resolutions[0].Progress == 0 {
		t.Errorf("progress = %v and %v; want none of the one that waits", s.Resolutions[0].Progress, s.Resolutions[1].Progress)
	}
	b.must(b.Planned(t.Context(), v.ID, plan("240p"))) // by an inspection that nobody asked for
	if n := b.waiting(); n[queue.Inspect] != 1 || n[queue.Assemble] != 1 || n[queue.Encode] != 2 {
		t.Errorf("tasks = %v; want those of the first round only", n)
	}
	b.must(b.Purge(t.Context(), v.ID))
	b.publish(v.ID, 0)
	b.wantStatuses(v.ID, "processing: 720p ready, 240p processing")
	if n := b.waiting(); n[queue.Inspect] != 1 || n[queue.Encode] != 0 {
		t.Errorf("tasks = %v; want the inspection of the second round", n)
	}
	b.wantRescued(map[queue.Kind]int{queue.Inspect: 1})
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 720p ready, 240p ready")
}

func TestDeletedResolutionIsAddedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{})
	b.finish(v.ID)
	for _, r := range v.Resolutions {
		b.must(b.DeleteResolution(t.Context(), b.by, r.ID))
	}
	b.add(v.ID, "240p")
	b.wantStatuses(v.ID, "processing: 240p processing")
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 240p ready")
}

func TestDeletingAnAddedResolutionEndsItsRound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.finish(v.ID)
	added := b.add(v.ID, "240p").Resolutions[1]
	b.must(b.DeleteResolution(t.Context(), b.by, added.ID))
	b.wantStatuses(v.ID, "ready: 720p ready")
	if n := b.waiting(); n[queue.Inspect] != 0 {
		t.Errorf("tasks = %v; want no inspection", n)
	}
}

func TestRetryResolution(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	v := b.processing(video.Draft{})
	b.transcode(v.ID, plan("720p", "240p"))
	b.must(b.GiveUp(ctx, v.ID, video.Failf(video.LimitTime, "It took too long.")))
	b.wantStatuses(v.ID, "fail: 720p fail, 240p fail")

	for range 2 { // once more, because the answer was lost
		s, err := b.RetryResolution(ctx, b.by, v.Resolutions[1].ID)
		b.must(err)
		if s.Video.Failure != nil || s.Resolutions[1].Failure != nil || s.Resolutions[0].Failure == nil {
			t.Errorf("failures are %v, %v, %v; want that of 720p", s.Video.Failure, s.Resolutions[0].Failure, s.Resolutions[1].Failure)
		}
	}
	b.wantStatuses(v.ID, "processing: 720p fail, 240p processing")
	b.wantRescued(map[queue.Kind]int{queue.Inspect: 1})
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 720p fail, 240p ready")
	if _, err := b.RetryResolution(ctx, b.by, v.Resolutions[1].ID); err != nil {
		t.Errorf("retry of a ready resolution = %v; want nothing to happen", err)
	}
	b.wantStatuses(v.ID, "ready: 720p fail, 240p ready")
}

// A file that could not be inspected has no plan.
func TestRetryAfterAFailedInspection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{Resolutions: []video.Name{"240p"}})
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
	_, err := b.RetryResolution(t.Context(), b.by, v.Resolutions[0].ID)
	b.must(err)
	b.finish(v.ID)
	b.wantStatuses(v.ID, "ready: 240p ready")
}

func TestRoundsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *app.Config) { c.KeepSource = false })
	ctx := t.Context()
	reader, other := b.actor(app.Key{Scopes: []app.Scope{app.Read}}), b.actor(app.Key{Tenant: "other"})
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
	for by, want := range map[*app.Actor]string{&reader: "insufficient_scope", &other: "video_not_found"} {
		if _, err := b.AddResolution(ctx, *by, v.ID, "240p"); codeOf(err) != want {
			t.Errorf("AddResolution = %v; want %s", err, want)
		}
		want = strings.Replace(want, "video_", "resolution_", 1)
		if _, err := b.RetryResolution(ctx, *by, v.Resolutions[0].ID); codeOf(err) != want {
			t.Errorf("RetryResolution = %v; want %s", err, want)
		}
	}
	up := b.create(video.Draft{})
	_, _ = b.CompleteUpload(ctx, b.by, up.Video.ID) // there is no upload
	if _, err := b.RetryResolution(ctx, b.by, up.Video.Resolutions[0].ID); codeOf(err) != "upload_failed" {
		t.Errorf("RetryResolution without an upload = %v; want upload_failed", err)
	}
	b.must(b.GiveUp(ctx, v.ID, video.Failf(video.Corrupt, "It is broken.")))
	b.must(b.Purge(ctx, v.ID))
	if _, err := b.AddResolution(ctx, b.by, v.ID, "240p"); codeOf(err) != "source_gone" {
		t.Errorf("AddResolution without a source = %v; want source_gone", err)
	}
	if _, err := b.RetryResolution(ctx, b.by, v.Resolutions[0].ID); codeOf(err) != "source_gone" {
		t.Errorf("RetryResolution without a source = %v; want source_gone", err)
	}
	b.wantStatuses(v.ID, "fail: 720p fail")
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Code
	}
	return ""
}

// A worker that slept through the end of a round does not end a step of the next.
func TestStaleWorkDoesNotCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}, Thumbnails: []float64{1}})
	withStills := func(name video.Name) *video.Plan {
		p := plan(name)
		p.Audio, p.Thumbnails = nil, []video.Thumbnail{{}}
		return p
	}
	old := []app.PieceFile{{Rendition: 0, Path: b.file("old"), Frames: 5}}
	b.must(b.Planned(ctx, v.ID, withStills("720p")))
	b.must(b.GiveUp(ctx, v.ID, video.Failf(video.LimitTime, "It took too long.")))
	_, err := b.RetryResolution(ctx, b.by, v.Resolutions[0].ID)
	b.must(err)
	b.must(b.Planned(ctx, v.ID, withStills("720p")))

	b.must(b.FinishChunk(ctx, v.ID, 0, old))
	b.must(b.PublishThumbnails(ctx, v.ID, []app.ThumbnailFile{{Rendition: 0, Path: b.file("old")}}))
	b.must(b.PublishFilm(ctx, v.ID, 0, app.Film{Path: b.file("old")}))
	for _, k := range []queue.Kind{queue.Encode, queue.Thumbnails} {
		if _, wanted, err := b.Working(ctx, queue.Task{Kind: k, Video: v.ID}); !wanted || err != nil {
			t.Errorf("%s is wanted = %t, %v after stale work; want it to go on", k, wanted, err)
		}
	}
	b.wantStatuses(v.ID, "processing: 720p processing")
}
