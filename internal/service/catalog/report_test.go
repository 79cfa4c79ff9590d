package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func report(b *servicetest.Rig, id video.ID) catalog.Report {
	b.T.Helper()
	r, err := b.Catalog.Report(b.T.Context(), b.By, id)
	b.Must(err)
	return r
}

func ran(b *servicetest.Rig, t queue.Task, result string) {
	b.T.Helper()
	b.Must(b.RecordExecution(b.T.Context(), t, video.Execution{Program: "ffmpeg", StartedAt: b.Now(), Wall: time.Second, CPU: 2 * time.Second, Result: result}))
}

func TestReportFollowsAVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Measuring)
	up := b.Create(video.Draft{IsPublic: true})
	if r := report(b, up.Video.ID); r.Video.Status != video.PendingUpload || r.Video.Plan != nil || len(r.Executions) != 0 || r.Cost != (video.Cost{}) {
		t.Errorf("report before the upload: %+v", r)
	}
	b.Put(up, servicetest.LikeVideo)
	v, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	b.Must(err)
	completed := b.Now()
	b.Advance(time.Second)
	ran(b, queue.Task{Kind: queue.Inspect, Video: v.ID, Attempt: 2}, video.ExecutionOK)
	b.Transcode(v.ID, servicetest.MeasuredPlan("720p", "240p"))
	b.Advance(time.Minute)
	b.Publish(v.ID, 0)
	b.Publish(v.ID, 1)

	r := report(b, v.ID)
	want := video.Cost{Executions: 1, Wall: time.Second, CPU: 2 * time.Second, BeganAt: completed.Add(time.Second), EndedAt: completed.Add(61 * time.Second)}
	if diff := cmp.Diff(want, r.Cost); diff != "" {
		t.Errorf("cost (-want +got):\n%s", diff)
	}
	if len(r.Executions) != 1 || r.Executions[0].Task != "inspect" || r.Executions[0].Attempt != 2 || r.Video.Plan == nil {
		t.Errorf("report of a ready video: %+v", r)
	}
	b.Must(b.StoreQuality(t.Context(), v.ID, map[int]video.QualityScore{1: {SSIM: 0.9, PSNR: 40}}))
	r = report(b, v.ID)
	if r.Video.Resolutions[0].Quality != nil || *r.Video.Resolutions[1].Quality != (video.QualityScore{SSIM: 0.9, PSNR: 40}) {
		t.Errorf("quality scores: %v, %v; want one of 240p alone", r.Video.Resolutions[0].Quality, r.Video.Resolutions[1].Quality)
	}
}

func TestReportIsForItsTenant(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for _, public := range []bool{true, false} {
		v := b.Create(video.Draft{IsPublic: public}).Video
		report(b, v.ID)
		_, err := b.Catalog.Report(t.Context(), b.Actor(auth.Key{Tenant: "other"}), v.ID)
		servicetest.WantCode(t, err, video.NotFound, "video_not_found")
		_, err = b.Catalog.Report(t.Context(), b.Actor(auth.Key{Scopes: []auth.Scope{auth.Write}}), v.ID)
		servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
		b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
		_, err = b.Catalog.Report(t.Context(), b.By, v.ID)
		servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	}
}

func TestExecutionsOfALongVideoLeaveSpaceForNotableOnes(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{})
	for i := range 405 {
		ran(b, queue.Task{Kind: queue.Encode, Video: v.ID, Number: i}, video.ExecutionOK)
	}
	for i := range 105 {
		ran(b, queue.Task{Kind: queue.Encode, Video: v.ID, Number: i}, fmt.Sprintf("exit status %d", i))
	}
	r := report(b, v.ID)
	if len(r.Executions) != 500 || r.Cost.Executions != 510 || r.Cost.CPU != 1020*time.Second {
		t.Errorf("%d runs are kept and %d counted, of %s; want 500 of 510, of 17m", len(r.Executions), r.Cost.Executions, r.Cost.CPU)
	}
	if last := r.Executions[499]; last.Result != "exit status 99" {
		t.Errorf("the last run kept is %+v", last)
	}
}

func TestAnExecutionOfADeletedVideoIsForgotten(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{})
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	ran(b, queue.Task{Kind: queue.Encode, Video: v.ID}, "stopped")
	if runs, err := pipeline.ExecutionsOf(t.Context(), b.Store.Queries, v.ID); err != nil || len(runs) != 0 {
		t.Errorf("runs = %v, %v", runs, err)
	}
}
