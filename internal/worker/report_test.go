package worker

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/child"
)

// bench is a worker on real parts.
type bench struct {
	*servicetest.Services
	t     *testing.T
	store *store.Store
	blobs blob.Store
	queue *local.Queue
	work  *Worker
	by    auth.Actor
	dir   string
}

// newBench makes a bench whose ffmpeg is the given program.
func newBench(t *testing.T, program string) *bench {
	t.Helper()
	return newBenchOn(t, program, nil)
}

// newBenchOn makes a bench on a storage; nil means a folder of its own.
func newBenchOn(t *testing.T, program string, blobs blob.Store) *bench {
	t.Helper()
	return newBenchWith(t, ffmpeg.Config{FFmpeg: program}, blobs)
}

// newBenchWith makes a bench with other tools.
func newBenchWith(t *testing.T, tools ffmpeg.Config, blobs blob.Store) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	st, err := store.OpenSQLite(t.Context(), servicetest.Database.Fresh(t))
	b.must(err)
	t.Cleanup(func() { st.Close() })
	if blobs == nil {
		blobs, err = disk.Open(filepath.Join(b.dir, "objects"), disk.Options{})
		b.must(err)
	}
	b.store, b.blobs = st, blobs
	log, m := slog.New(slog.DiscardHandler), metrics.New("test")
	b.queue = local.New(st.Writer(), local.Options{})
	t.Cleanup(func() { b.queue.Stop(context.Background()) })
	b.Services, err = servicetest.Wire(t.Context(), servicetest.Config{
		Uploads:        uploads.Config{URLTTL: time.Hour, MaxBytes: 1 << 30},
		AbandonedAfter: time.Hour, MeasureQuality: true,
	}, servicetest.Parts{Store: st, Queue: b.queue, Blobs: blobs, Log: log})
	b.must(err)
	engine, err := OpenEngine(t.Context(), tools, plan.Config{}, encode.Config{Threads: 1})
	b.must(err)
	b.work, err = New(Services{Tasks: b.Tasks, Files: b.Files, Cleaner: b.Cleaner}, engine, filepath.Join(b.dir, "scratch"), log, m)
	b.must(err)
	secret, _, err := b.Keys.Create(t.Context(), auth.Key{})
	b.must(err)
	b.by, err = b.Keys.Authenticate(t.Context(), secret)
	b.must(err)
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// process takes a short, silent clip through all tasks and returns the report.
func (b *bench) process() catalog.Report {
	b.t.Helper()
	ctx, clip := b.t.Context(), filepath.Join(b.t.TempDir(), "clip.mp4")
	out, err := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x96:r=25:d=1", clip).CombinedOutput()
	if err != nil {
		b.t.Fatalf("make clip: %v\n%s", err, out)
	}
	up, err := b.Catalog.Create(ctx, b.by, video.Draft{Filename: "clip.mp4", Resolutions: []video.Name{"144p"}, IsPublic: true}, "http://spool.test")
	b.must(err)
	f, err := os.Open(clip)
	b.must(err)
	defer f.Close()
	token := strings.Split(strings.TrimPrefix(up.URL, "http://spool.test/upload/"), "/")[0]
	_, err = b.Uploads.Receive(ctx, uploads.Incoming{Token: token, Video: up.Video.ID, ContentType: up.Video.ContentType, Length: -1, Body: f})
	b.must(err)
	_, err = b.Uploads.Complete(ctx, b.by, up.Video.ID)
	b.must(err)
	b.must(b.queue.Start(ctx, queue.Encoding(1, b.work.Handle)))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		stats, err := b.queue.Stats(ctx)
		if b.must(err); len(stats) == 0 {
			break
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("there is still work after a minute: %v", stats)
		}
	}
	r, err := b.Catalog.Report(ctx, b.by, up.Video.ID)
	b.must(err)
	return r
}

// refusing returns an ffmpeg that fails if its arguments fit a pattern.
func refusing(t *testing.T, pattern string) string {
	t.Helper()
	return deed(t, pattern, "exit 1")
}

// deed returns an ffmpeg that does something else if its arguments fit a pattern.
func deed(t *testing.T, pattern, does string) string {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "ffmpeg")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n%s) %s ;;\nesac\nexec %s \"$@\"\n", pattern, does, path)
	child.WriteProgram(t, program, []byte(script))
	return program
}

func TestAReadyVideoIsMeasuredAndItsExecutionsAreRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	r := b.process()
	var told []string
	for _, run := range r.Executions {
		told = append(told, fmt.Sprintf("%s %d by %s: %s", run.Task, run.Attempt, run.Program, run.Result))
		if command := strings.Join(run.Arguments, " "); strings.Contains(command, b.dir) || !strings.Contains(command, "file:source") {
			t.Errorf("the command is %s; want the source in it, and no folder of ours", command)
		}
	}
	const want = "inspect 1 by ffprobe: ok, encode 1 by ffmpeg: ok, poster 1 by ffmpeg: ok, measure 1 by ffmpeg: ok"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("runs are %s; want %s", got, want)
	}
	l := r.Video.Resolutions[0].Quality
	if r.Video.Status != video.Ready || l == nil || l.SSIM < 0.8 || l.SSIM > 1 {
		t.Errorf("video is %s, its quality score %+v", r.Video.Status, l)
	}
	poster, err := os.Stat(filepath.Join(b.dir, "objects", "public", string(r.Video.ID), video.PosterFile))
	if f, listed := r.Video.File(video.PosterFile); err != nil || !listed || f.Size != poster.Size() || f.Kind != video.PosterKind || f.ContentType != "image/jpeg" {
		t.Errorf("the poster is listed as %+v: %v", f, err)
	}
	if left, err := os.ReadDir(filepath.Join(b.dir, "objects", "source", string(r.Video.ID))); err == nil && len(left) > 0 {
		t.Error("the source is still there, though it shall not be kept")
	}
}

func TestMeasuringThatFailsCostsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, refusing(t, "*ssim=*"))
	r := b.process()
	if r.Video.Status != video.Ready || r.Video.Resolutions[0].Quality != nil {
		t.Errorf("video is %s, its quality score %+v; want it ready without one", r.Video.Status, r.Video.Resolutions[0].Quality)
	}
	tries := 0
	for _, run := range r.Executions {
		if run.Task == string(queue.Measure) {
			if tries++; run.Attempt != tries || run.Result != "exit status 1" {
				t.Errorf("try %d of measuring is told as %+v", tries, run)
			}
		}
	}
	if tries != maxFailures {
		t.Errorf("measuring was tried %d times; want %d", tries, maxFailures)
	}
}

func TestAnEncoderThatHangsIsKilledAndGivenUp(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, ffmpeg.Config{FFmpeg: deed(t, "*/v0.mp4*", "exec sleep 600"), StallTimeout: time.Second}, nil)
	r := b.process()
	if f := r.Video.Failure; r.Video.Status != video.Fail || f == nil || f.Code != video.LimitTime || !strings.Contains(f.Message, "no progress") {
		t.Errorf("the video is %s, %+v; want it failed for making no progress", r.Video.Status, f)
	}
	tries := 0
	for _, run := range r.Executions {
		if run.Task == string(queue.Encode) && run.Result == ffmpeg.ErrStalled.Error() {
			tries++
		}
	}
	if tries != maxFailures {
		t.Errorf("the encoder stalled %d times; want %d: %+v", tries, maxFailures, r.Executions)
	}
}

func TestAnExecutionIsRecordedThoughItsTaskWasStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	up, err := b.Catalog.Create(t.Context(), b.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"144p"}}, "http://spool.test")
	b.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.work.record(ctx, queue.Task{Kind: queue.Encode, Video: up.Video.ID, Attempt: 1}, video.Execution{Program: "ffmpeg", StartedAt: time.Now(), Result: "stopped"})
	if r, err := b.Catalog.Report(t.Context(), b.by, up.Video.ID); err != nil || len(r.Executions) != 1 {
		t.Errorf("runs = %v, %v; want the one that was stopped", r.Executions, err)
	}
}
