package media

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

// beepFilm makes a film of two seconds whose sound beeps after one.
func beepFilm(t *testing.T, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	all := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=2",
		"-f", "lavfi", "-i", "aevalsrc='if(between(t,1,1.2),sin(2000*t),0)':s=48000:d=2", "-bf", "2", "-g", "25"}
	ffmpeg(t, append(append(all, args...), path)...)
	return path
}

// joinFiles puts transport streams one after the other, as recorders do.
func joinFiles(t *testing.T, paths ...string) string {
	t.Helper()
	var all []byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	joined := filepath.Join(t.TempDir(), "joined")
	if err := os.WriteFile(joined, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return joined
}

// TestClockThatJumps joins films whose clocks do not fit and looks whether all
// frames are there, and whether the sound is still where it belongs.
func TestClockThatJumps(t *testing.T) {
	t.Parallel()
	tools := newTools(t)
	first := beepFilm(t, "a.ts")
	tests := []struct {
		name, source string
		jumps        int
		beeps        []float64
	}{
		{"back to where it began", joinFiles(t, first, first), 1, []float64{1, 3}},
		{"an hour forward", joinFiles(t, first, beepFilm(t, "b.ts", "-output_ts_offset", "3600")), 1, []float64{1, 3}},
		{"forward and back", joinFiles(t, first, beepFilm(t, "b.ts", "-output_ts_offset", "3600"), first), 2, []float64{1, 3, 5}},
		{"the clock of MPEG wraps", beepFilm(t, "a.ts", "-output_ts_offset", "95442.4"), 0, []float64{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := newJob(t, tt.source)
			plan, err := tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"144p"}, Thumbnails: []float64{0, 2.5}})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Jumps) != tt.jumps || len(plan.Audio.Jumps) != tt.jumps || len(plan.Chunks) != 1 {
				t.Errorf("jumps %v, of the sound %v, %d chunks; want %d jumps and 1 chunk", plan.Jumps, plan.Audio.Jumps, len(plan.Chunks), tt.jumps)
			}
			film := encodeAll(t, tools, job, plan)
			if want := 50 * len(tt.beeps); len(film.times) != want || film.times[0] != 0 {
				t.Errorf("%d frames from %v on; want %d from 0", len(film.times), film.times[0], want)
			}
			for i, at := range film.times[1:] {
				if at-film.times[i] > 0.1 {
					t.Errorf("nothing is shown between %.3f and %.3f", film.times[i], at)
				}
			}
			sound, err := tools.EncodeAudio(t.Context(), job, plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			// Each join may add what sound and pictures differ by in length.
			sameBeeps(t, sound.Path, tt.beeps, 0.02+0.05*float64(tt.jumps))
			checkThumbnails(t, tools, job, plan)
		})
	}
}

func TestContinuousClock(t *testing.T) {
	t.Parallel()
	ms := video.Ratio{Num: 1, Den: 1000}
	line := newTimeline()
	add := func(pts, dts int64, key bool) {
		flags := "__"
		if key {
			flags = "K_"
		}
		line.add(packet{Type: "video", PTS: pts, DTS: dts, Duration: 40, Flags: flags})
	}
	for i := range int64(3) {
		add(5000+40*i, 5000+40*i, i == 0)
	}
	add(5110, 5110, false) // trembles
	for i := range int64(3) {
		add(40*i, 40*i, i == 0)
	}
	jumps := line.clock.real(ms, false)
	shifts := joined(jumps, ms, []jump{{end: 5200, start: 10}}, ms)
	if diff := cmp.Diff([]float64{5.2}, shifts); diff != "" {
		t.Fatalf("shifts (-want +got):\n%s", diff)
	}
	line.move(jumps, []int64{5200})
	line.settle()
	if diff := cmp.Diff([]int64{5000, 5040, 5080, 5110, 5200, 5240, 5280}, line.shown); diff != "" {
		t.Errorf("frames are shown at (-want +got):\n%s", diff)
	}
	if !line.untimed {
		t.Error("a film whose clock jumps must not be cut")
	}
}

func TestTimesAreGuessedFromTheOrderOfDecoding(t *testing.T) {
	t.Parallel()
	line := newTimeline()
	// As in an MPEG program stream: I P B B P B B, where only some packets say
	// when they are shown.
	for i, pts := range []int64{1, unknown, 2, 3, unknown, 5, 6} {
		flags := "__"
		if i == 0 {
			flags = "K_"
		}
		line.add(packet{Type: "video", PTS: pts, DTS: int64(i), Duration: 1, Flags: flags})
	}
	line.settle()
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 5, 6, 7}, line.shown); diff != "" {
		t.Errorf("frames are shown at (-want +got):\n%s", diff)
	}
}

func TestLongSilencesAreFound(t *testing.T) {
	t.Parallel()
	line := newTimeline()
	for _, at := range []int64{30_000, 30_020, 30_040, 100_000, 100_020, 101_000, 105_500} {
		line.add(packet{Type: "audio", PTS: at, DTS: at, Duration: 20, Flags: "K_"})
	}
	got := silences(line, func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond })
	want := []video.Silence{{To: 30 * time.Second}, {From: 30_060 * time.Millisecond, To: 100 * time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("silences (-want +got):\n%s", diff)
	}
}
