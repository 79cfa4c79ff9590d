package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/worker"
	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// epic is a video of three minutes with a keyframe every five seconds.
var epic = sourceVideo{Filename: "epic.mp4", Resolutions: []string{"480p"}, IsPublic: true, seconds: 180, rate: 24, size: "854x480", gop: 120}

// TestScaleOut makes the same video with one and with two workers, each of which
// uses one core. It must be the video that one chunk makes: the same frames at
// the same times. The two are measured in turns, because a machine's speed varies.
func TestScaleOut(t *testing.T) {
	need.TimeFor(t, "takes minutes on an idle machine")
	source := epic.file(t)
	whole := oneChunk(t, source)
	var gains, limits []float64
	for round := range rig.Setting(t, "SPOOL_TEST_ROUNDS", 3) {
		took := map[int]effort{}
		for _, workers := range [][]int{{1, 2}, {2, 1}}[round%2] {
			took[workers] = videoWith(t, workers, whole)
		}
		gains = append(gains, took[1].wall.Seconds()/took[2].wall.Seconds())
		limits = append(limits, machineLimit(t, source))
		t.Logf("one worker %v, two workers %v: %.2f times as fast; two bare ffmpeg are %.2f times as fast as one",
			took[1], took[2], gains[round], limits[round])
	}
	gain, limit := median(gains), median(limits)
	t.Logf("two workers are %.2f times as fast as one, two bare ffmpeg %.2f times (medians)", gain, limit)
	if want := min(1.85, 0.9*limit); gain < want {
		t.Errorf("two workers are %.2f times as fast as one; want %.2f", gain, want)
	}
}

// effort is what a video took.
type effort struct{ wall, cpu time.Duration }

func (e effort) String() string {
	return fmt.Sprintf("%.1f s (%.1f s of CPU)", e.wall.Seconds(), e.cpu.Seconds())
}

// median returns the middle of an odd number of values.
func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// videoWith has a fleet of so many workers make the video, wants it to equal the
// one that was made in one chunk, and returns how long it took from the end of
// the upload.
func videoWith(t *testing.T, workers int, whole string) effort {
	t.Helper()
	f := newFleet(t)
	f.api()
	for range workers {
		f.worker(withEnv("SPOOL_MEASURE_QUALITY", "false"), withEnv("SPOOL_PICTURES", "false"))
	}
	ctx := f.withTimeout(20 * time.Minute)
	o := f.newOrder(epic)
	if err := o.submit(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := o.await(ctx); err != nil {
		t.Fatal(err)
	}
	took := effort{wall: time.Since(began)}
	f.wantRest([]*order{o})
	f.wantWholeVideos([]*order{o})
	for _, n := range f.nodes() {
		n.stop() // what comes next wants the cores
	}
	for _, n := range f.workers {
		took.cpu += n.cmd.ProcessState.UserTime() + n.cmd.ProcessState.SystemTime()
	}
	made := filepath.Join(f.objects, "public", o.upload.ID, "480p.mp4")
	if err := sameVideo(made, whole); err != nil {
		t.Errorf("the video of %d workers against that of one chunk: %v", workers, err)
	}
	return took
}

// oneChunk makes the video without cutting it, and returns its frames.
func oneChunk(t *testing.T, source string) string {
	t.Helper()
	tools, err := worker.OpenEngine(t.Context(), ffmpeg.Config{}, plan.Config{Quality: video.Fast}, encode.Config{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	job := ffmpeg.Job{Source: source, OutDir: t.TempDir()}
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"480p"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Chunks) < 8 {
		t.Errorf("the video has %d chunks; want enough for two workers", len(plan.Chunks))
	}
	plan.Chunks = []video.Chunk{{Start: plan.Chunks[0].Start, End: video.Forever, Seek: video.NoSeek}}
	job.OutDir = t.TempDir()
	outputs, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return outputs[0].Path
}

// sameVideo wants two files to show the same frames at the same times. Chunks
// begin with keyframes of their own, so the frames differ a little in quality;
// a picture that is missing, doubled or out of place differs a lot.
func sameVideo(made, whole string) error {
	times, _, err := inspect(made)
	if err != nil {
		return err
	}
	want, _, err := inspect(whole)
	if err != nil {
		return err
	}
	if !slices.Equal(times, want) {
		return fmt.Errorf("%d pictures from %v to %v s; want %d from %v to %v s, or some at other times",
			len(times), times[0], times[len(times)-1], len(want), want[0], want[len(want)-1])
	}
	least, err := leastLikeness(made, whole)
	if err == nil && least < 0.9 {
		err = fmt.Errorf("the pictures that differ most have an SSIM of %.3f", least)
	}
	return err
}

// leastLikeness compares two videos picture by picture and returns the smallest
// SSIM.
func leastLikeness(a, b string) (float64, error) {
	out, err := run("ffmpeg", "-nostdin", "-v", "error", "-i", a, "-i", b, "-lavfi", "ssim=stats_file=-", "-f", "null", os.DevNull)
	if err != nil {
		return 0, err
	}
	least := 1.0
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		_, rest, found := strings.Cut(lines.Text(), "All:")
		var all float64
		if _, err := fmt.Sscan(rest, &all); !found || err != nil {
			return 0, fmt.Errorf("ffmpeg compares with %q", lines.Text())
		}
		least = min(least, all)
	}
	return least, nil
}

// machineLimit returns how much more two encoders at once get done here than
// one: two cores of a virtual machine are not always two.
func machineLimit(t *testing.T, source string) float64 {
	t.Helper()
	encode := func(ctx context.Context) error {
		return exec.CommandContext(ctx, "ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-t", "45", "-i", source,
			"-an", "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-f", "null", os.DevNull).Run()
	}
	timed := func(n int) time.Duration {
		began := time.Now()
		var busy sync.WaitGroup
		for range n {
			busy.Go(func() {
				if err := encode(t.Context()); err != nil {
					t.Errorf("measure this machine: %v", err)
				}
			})
		}
		busy.Wait()
		return time.Since(began)
	}
	return 2 * timed(1).Seconds() / timed(2).Seconds()
}
