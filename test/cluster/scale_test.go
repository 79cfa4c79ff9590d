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

	"github.com/spool-video/spool/internal/media"
	"github.com/spool-video/spool/internal/video"
)

// epic is a film of three minutes. Its keyframes are 7.5 s apart, which makes
// eight equal chunks: with an odd number, two workers cannot be twice as fast.
var epic = film{Filename: "epic.mp4", Resolutions: []string{"480p"}, IsPublic: true, seconds: 180, rate: 24, size: "854x480", gop: 180}

// TestScaleOut makes the same film with one and with two workers, each of which
// uses one core. It must be the film that one chunk makes: the same frames at
// the same times.
func TestScaleOut(t *testing.T) {
	if !long() {
		t.Skip("takes minutes on an idle machine: SPOOL_TEST_LONG=1 runs it")
	}
	source := epic.file(t)
	limit := machineLimit(t, source)
	whole := oneChunk(t, source)
	alone := filmWith(t, 1, whole)
	together := filmWith(t, 2, whole)
	t.Logf("one worker %.1f s, two workers %.1f s: %.2f times as fast; two bare ffmpeg on this machine are %.2f times as fast as one",
		alone.Seconds(), together.Seconds(), alone.Seconds()/together.Seconds(), limit)
	if got := alone.Seconds() / together.Seconds(); got < 0.9*limit {
		t.Errorf("two workers are %.2f times as fast as one; this machine can do %.2f", got, limit)
	}
}

// filmWith has a fleet of so many workers make the film, wants it to equal the
// one that was made in one chunk, and returns how long it took from the end of
// the upload.
func filmWith(t *testing.T, workers int, whole string) time.Duration {
	t.Helper()
	f := newFleet(t)
	f.api()
	for range workers {
		f.worker(withEnv("SPOOL_MEASURE_QUALITY", "false"))
	}
	ctx := f.enjoy(20 * time.Minute)
	o := f.newOrder(epic)
	if err := o.submit(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := o.await(ctx); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	f.wantRest([]*order{o})
	f.wantFilms([]*order{o})
	made := filepath.Join(f.objects, "public", o.upload.ID, "480p.mp4")
	if err := sameFilm(made, whole); err != nil {
		t.Errorf("the film of %d workers against that of one chunk: %v", workers, err)
	}
	for _, n := range f.nodes() {
		n.stop() // the next fleet wants the cores
	}
	return took
}

// oneChunk makes the film without cutting it, and returns its pictures.
func oneChunk(t *testing.T, source string) string {
	t.Helper()
	tools, err := media.New(t.Context(), media.Config{Threads: 2, Quality: video.Fast})
	if err != nil {
		t.Fatal(err)
	}
	job := media.Job{Source: source, OutDir: t.TempDir()}
	plan, err := tools.Inspect(t.Context(), job, media.Ask{Names: []video.Name{"480p"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Chunks) != 8 {
		t.Errorf("the film has %d chunks; want 8", len(plan.Chunks))
	}
	plan.Chunks = []video.Chunk{{Start: plan.Chunks[0].Start, End: video.Forever, Seek: video.NoSeek}}
	job.OutDir = t.TempDir()
	outputs, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return outputs[0].Path
}

// sameFilm wants two files to show the same pictures at the same times. Chunks
// begin with keyframes of their own, so the pictures differ a little in quality;
// a picture that is missing, doubled or out of place differs a lot.
func sameFilm(made, whole string) error {
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

// leastLikeness compares two films picture by picture and returns the smallest
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
