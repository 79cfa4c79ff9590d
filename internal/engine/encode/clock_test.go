package encode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// beepVideo makes a video of two seconds whose audio beeps after one.
func beepVideo(t *testing.T, name string, args ...string) string {
	t.Helper()
	return beepVideos(t, enginetest.Output{Name: name, Args: args})[0]
}

// beepVideos makes several of them at once.
func beepVideos(t *testing.T, all ...enginetest.Output) []string {
	t.Helper()
	for i, o := range all {
		all[i].Args = append([]string{"-preset", "ultrafast", "-bf", "2", "-g", "25"}, o.Args...)
	}
	return enginetest.Outputs(t, []string{"-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=2",
		"-f", "lavfi", "-i", "aevalsrc='if(between(t,1,1.2),sin(2000*t),0)':s=48000:d=2"}, all...)
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

// TestClockThatJumps joins videos whose clocks do not fit and looks whether all
// frames are there, and whether the audio is still where it belongs.
func TestClockThatJumps(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	from := func(second string) enginetest.Output {
		return enginetest.Output{Name: "a.ts", Args: []string{"-output_ts_offset", second}}
	}
	made := beepVideos(t, from("0"), from("3600"), from("7200"), from("95442.4"))
	first, forward, late, wraps := made[0], made[1], made[2], made[3]
	tests := []struct {
		name  string
		parts []string // which are joined
		jumps int
		beeps []float64
	}{
		{"back to where it began", []string{first, first}, 1, []float64{1, 3}},
		{"an hour forward", []string{first, forward}, 1, []float64{1, 3}},
		{"forward and back", []string{first, forward, first}, 2, []float64{1, 3, 5}},
		{"back from two hours", []string{late, first}, 1, []float64{1, 3}},
		{"from two hours to zero and back, twice", []string{late, first, late, first}, 3, []float64{1, 3, 5, 7}},
		{"the clock of MPEG wraps", []string{wraps}, 0, []float64{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, tt.name, "back to where it began", "an hour forward", "forward and back", "back from two hours") // one goes back, forward and back
			job := enginetest.NewJob(t, joinFiles(t, tt.parts...))
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0, 2.5}})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Jumps) != tt.jumps || len(plan.Audio.Jumps) != tt.jumps || len(plan.Chunks) != 1 {
				t.Errorf("jumps %v, of the audio %v, %d chunks; want %d jumps and 1 chunk", plan.Jumps, plan.Audio.Jumps, len(plan.Chunks), tt.jumps)
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
			sound, err := tools.EncodeAudio(t.Context(), job, inOnePiece(plan), 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			// Each join may add what audio and frames differ by in length.
			sameBeeps(t, beeps(t, sound.Path)[0], tt.beeps, 0.02+0.05*float64(tt.jumps))
			checkThumbnails(t, tools, job, plan)
		})
	}
}
