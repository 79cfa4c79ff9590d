package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// measured is a plan whose films are compared with their source.
func measured(names ...video.Name) *video.Plan {
	p := plan(names...)
	p.Samples = []video.Chunk{{Start: 0, End: 500, Seek: video.NoSeek}}
	return p
}

// ready makes a video that is ready and waits to be measured.
func (b *bench) ready(p *video.Plan) video.Video {
	b.t.Helper()
	v := b.processing(video.Draft{IsPublic: true})
	b.transcode(v.ID, p)
	for r := range p.Renditions {
		b.publish(v.ID, r)
	}
	if v = b.video(v.ID); v.Status != video.Ready {
		b.t.Fatalf("video is %s", v.Status)
	}
	return v
}

func (b *bench) report(id video.ID) app.Report {
	b.t.Helper()
	r, err := b.Report(b.t.Context(), b.by, id)
	b.must(err)
	return r
}

func (b *bench) ran(t queue.Task, result string) {
	b.t.Helper()
	b.must(b.RecordRun(b.t.Context(), t, video.Execution{Program: "ffmpeg", StartedAt: b.now(), Wall: time.Second, CPU: 2 * time.Second, Result: result}))
}

func TestReportFollowsAVideo(t *testing.T) {
	t.Parallel()
	b := newBench(t, measuring)
	up := b.create(video.Draft{IsPublic: true})
	if r := b.report(up.Video.ID); r.Video.Status != video.PendingUpload || r.Video.Plan != nil || len(r.Runs) != 0 || r.Cost != (video.Cost{}) {
		t.Errorf("report before the upload: %+v", r)
	}
	b.put(up, beginsLikeVideo)
	v, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	b.must(err)
	completed := b.now()
	b.pass(time.Second)
	b.ran(queue.Task{Kind: queue.Inspect, Video: v.ID, Attempt: 2}, video.ExecutionOK)
	b.transcode(v.ID, measured("720p", "240p"))
	b.pass(time.Minute)
	b.publish(v.ID, 0)
	b.publish(v.ID, 1)

	r := b.report(v.ID)
	want := video.Cost{Executions: 1, Wall: time.Second, CPU: 2 * time.Second, BeganAt: completed.Add(time.Second), EndedAt: completed.Add(61 * time.Second)}
	if diff := cmp.Diff(want, r.Cost); diff != "" {
		t.Errorf("effort (-want +got):\n%s", diff)
	}
	if len(r.Runs) != 1 || r.Runs[0].Task != "inspect" || r.Runs[0].Attempt != 2 || r.Video.Plan == nil {
		t.Errorf("report of a ready video: %+v", r)
	}
	b.must(b.Measured(t.Context(), v.ID, map[int]video.QualityScore{1: {SSIM: 0.9, PSNR: 40}}))
	r = b.report(v.ID)
	if r.Video.Resolutions[0].Quality != nil || *r.Video.Resolutions[1].Quality != (video.QualityScore{SSIM: 0.9, PSNR: 40}) {
		t.Errorf("likenesses: %v, %v; want one of 240p alone", r.Video.Resolutions[0].Quality, r.Video.Resolutions[1].Quality)
	}
}

func TestReportIsForItsTenant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, public := range []bool{true, false} {
		v := b.create(video.Draft{IsPublic: public}).Video
		b.report(v.ID)
		_, err := b.Report(t.Context(), b.actor(app.Key{Tenant: "other"}), v.ID)
		wantCode(t, err, video.NotFound, "video_not_found")
		_, err = b.Report(t.Context(), b.actor(app.Key{Scopes: []app.Scope{app.Write}}), v.ID)
		wantCode(t, err, video.Forbidden, "insufficient_scope")
		b.must(b.DeleteVideo(t.Context(), b.by, v.ID))
		_, err = b.Report(t.Context(), b.by, v.ID)
		wantCode(t, err, video.NotFound, "video_not_found")
	}
}

func TestRunsOfALongFilmLeaveRoomForThoseThatTellMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{})
	for i := range 405 {
		b.ran(queue.Task{Kind: queue.Encode, Video: v.ID, Number: i}, video.ExecutionOK)
	}
	for i := range 105 {
		b.ran(queue.Task{Kind: queue.Encode, Video: v.ID, Number: i}, fmt.Sprintf("exit status %d", i))
	}
	r := b.report(v.ID)
	if len(r.Runs) != 500 || r.Cost.Executions != 510 || r.Cost.CPU != 1020*time.Second {
		t.Errorf("%d runs are kept and %d counted, of %s; want 500 of 510, of 17m", len(r.Runs), r.Cost.Executions, r.Cost.CPU)
	}
	if last := r.Runs[499]; last.Result != "exit status 99" {
		t.Errorf("the last run kept is %+v", last)
	}
}

func TestARunOfADeletedVideoIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{})
	b.must(b.DeleteVideo(t.Context(), b.by, v.ID))
	b.ran(queue.Task{Kind: queue.Encode, Video: v.ID}, "stopped")
	if runs, err := b.store.Executions(t.Context(), v.ID); err != nil || len(runs) != 0 {
		t.Errorf("runs = %v, %v", runs, err)
	}
}

// Every way for a video to become ready queues its measuring, and none other.
func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(b *bench, v video.Video)
		want int
	}{
		{"a film that is ready", func(b *bench, v video.Video) { b.publish(v.ID, 0); b.publish(v.ID, 1) }, 1},
		{"not one that is half ready", func(b *bench, v video.Video) { b.publish(v.ID, 0) }, 0},
		{"one of which a part was given up", func(b *bench, v video.Video) {
			b.publish(v.ID, 0)
			b.must(b.GiveUp(b.t.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
		}, 1},
		{"not one that failed", func(b *bench, v video.Video) {
			b.must(b.GiveUp(b.t.Context(), v.ID, video.Failf(video.InternalFailure, "No.")))
		}, 0},
		{"one whose unfinished part was deleted", func(b *bench, v video.Video) {
			b.publish(v.ID, 1)
			b.must(b.DeleteResolution(b.t.Context(), b.by, v.Resolutions[0].ID))
		}, 1},
		{"not one that was deleted", func(b *bench, v video.Video) {
			b.publish(v.ID, 0)
			b.publish(v.ID, 1)
			b.must(b.DeleteVideo(b.t.Context(), b.by, v.ID))
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, measuring)
			v := b.processing(video.Draft{IsPublic: true})
			b.transcode(v.ID, measured("720p", "240p"))
			tt.end(b, v)
			if n := b.waiting()[queue.Measure]; n != tt.want {
				t.Errorf("%d measurements queued; want %d", n, tt.want)
			}
			_, wanted, err := b.Working(t.Context(), queue.Task{Kind: queue.Measure, Video: v.ID})
			if err != nil || wanted != (tt.want == 1) {
				t.Errorf("measuring is wanted: %t, %v; want %t", wanted, err, tt.want == 1)
			}
		})
	}
	b := newBench(t) // not set to measure
	if b.ready(measured("720p", "240p")); b.waiting()[queue.Measure] != 0 {
		t.Error("a measurement is queued though nobody wants any")
	}
	b = newBench(t, measuring)
	if b.ready(plan("720p", "240p")); b.waiting()[queue.Measure] != 0 {
		t.Error("a measurement is queued though there is nothing to compare")
	}
}

func TestTheSourceIsKeptUntilItWasMeasured(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		b := newBench(t, measuring, func(c *app.Config) { c.KeepSource = false })
		ctx := t.Context()
		v := b.ready(measured("720p", "240p"))
		b.must(b.Purge(ctx, v.ID))
		films := []string{"public/" + string(v.ID) + "/240p.mp4", "public/" + string(v.ID) + "/720p.mp4"}
		if keys, want := b.keys(), append(slices.Clone(films), v.Source.Key); !slices.Equal(keys, want) {
			t.Fatalf("objects before measuring are %v; want %v", keys, want)
		}
		before := b.waiting()[queue.Purge]
		if skip {
			b.must(b.SkipMeasuring(ctx, v.ID))
		} else {
			b.must(b.Measured(ctx, v.ID, nil))
		}
		b.must(b.Measured(ctx, v.ID, nil)) // the same task, delivered twice
		if n := b.waiting()[queue.Purge]; n != before+1 {
			t.Errorf("%d purges queued by measuring; want 1", n-before)
		}
		b.must(b.Purge(ctx, v.ID))
		if keys := b.keys(); !slices.Equal(keys, films) {
			t.Errorf("objects after measuring are %v; want %v", keys, films)
		}
	}
}

func TestFaultsOfMeasuringAreCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, measuring)
	v := b.ready(measured("720p", "240p"))
	task := queue.Task{Kind: queue.Measure, Video: v.ID}
	for i, want := range []bool{false, false, true} {
		if got, err := b.Fault(t.Context(), task, 3); got != want || err != nil {
			t.Errorf("fault %d: give up = %t, %v; want %t", i+1, got, err, want)
		}
	}
	if wanted, err := b.Progress(t.Context(), task, 0.5); !wanted || err != nil {
		t.Errorf("progress is wanted: %t, %v", wanted, err)
	}
	b.must(b.SkipMeasuring(t.Context(), v.ID))
	if got := b.video(v.ID); got.Status != video.Ready || got.Failure != nil {
		t.Errorf("video = %s, %v; want it ready as before", got.Status, got.Failure)
	}
	if wanted, err := b.Progress(t.Context(), task, 0.6); wanted || err != nil {
		t.Errorf("progress is still wanted: %t, %v", wanted, err)
	}
}

func TestFetchFilms(t *testing.T) {
	t.Parallel()
	b := newBench(t, measuring)
	p := measured("720p", "240p")
	p.Renditions[0].Names = []video.Name{"1080p", "720p"} // the first was never asked for, or is deleted
	v := b.ready(p)
	dir := t.TempDir()
	films, err := b.FetchFilms(t.Context(), v, dir)
	b.must(err)
	want := []app.FilmFile{{Rendition: 0, Path: filepath.Join(dir, "720p.mp4")}, {Rendition: 1, Path: filepath.Join(dir, "240p.mp4")}}
	if diff := cmp.Diff(want, films); diff != "" {
		t.Errorf("films (-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(films[0].Path); err != nil || string(text) != "the film" {
		t.Errorf("film = %q, %v", text, err)
	}

	b.must(b.DeleteResolution(t.Context(), b.by, v.Resolutions[0].ID))
	films, err = b.FetchFilms(t.Context(), v, t.TempDir()) // v does not know of it yet
	if b.must(err); len(films) != 1 || films[0].Rendition != 1 {
		t.Errorf("films after a deletion = %v; want 240p alone", films)
	}
	b.must(b.blobs.Close())
	_, err = b.FetchFilms(t.Context(), v, t.TempDir())
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Kind != video.Unavailable {
		t.Errorf("FetchFilms without a storage = %v; want it unavailable", err)
	}
}
