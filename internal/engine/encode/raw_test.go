package encode

import (
	"os"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// TestVideosWithoutAContainer has what cameras and encoders write before anything wraps it. A cut-off one cannot be told
// from a shorter one.
func TestVideosWithoutAContainer(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	paths := enginetest.Clips(t, "testsrc2=s=160x120:r=25:d=1",
		enginetest.Output{Name: "a.hevc", Args: []string{"-c:v", "libx265", "-preset", "ultrafast", "-bf", "3", "-x265-params", "log-level=none"}},
		enginetest.Output{Name: "a.dv", Args: []string{"-target", "pal-dv", "-shortest"}},
	)
	for i, want := range []struct {
		container string
		heard     bool
	}{{"hevc", false}, {"dv", true}} {
		t.Run(want.container, func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile(paths[i])
			if err != nil {
				t.Fatal(err)
			}
			if err := probe.Admit(file[:probe.SniffSize], false); err != nil {
				t.Errorf("Admit = %v", err)
			}
			if err := os.Truncate(paths[i], int64(len(file))*9/10); err != nil {
				t.Fatal(err)
			}
			job := enginetest.NewJob(t, paths[i])
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0.5}})
			if err != nil {
				t.Fatal(err)
			}
			if plan.Input.Container != want.container || (plan.Audio != nil) != want.heard || len(plan.Warnings) != 0 {
				t.Errorf("it is %s, audio is %v, warnings are %v; want %s, audio: %v, and no warning", plan.Input.Container, plan.Audio, plan.Warnings, want.container, want.heard)
			}
			if film := encodeAll(t, tools, job, plan); len(film.times) < 20 || len(film.times) > 25 {
				t.Errorf("%d frames are made; want 20 to 25", len(film.times))
			}
			checkAudio(t, tools, job, plan)
			checkThumbnails(t, tools, job, plan)
		})
	}
}
