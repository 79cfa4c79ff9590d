package video_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	cut := video.Warning{Code: video.Truncated, Message: "The file is cut off."}
	plan := func(announced ...int) *video.Plan {
		p := &video.Plan{Audio: &video.Audio{}}
		for _, n := range announced {
			p.Chunks = append(p.Chunks, video.Chunk{Frames: n})
		}
		return p
	}
	damaged := func(text string) []video.Warning {
		return []video.Warning{{Code: video.Corrupt, Message: text}}
	}
	lacking := func(lost, length time.Duration) *video.Plan {
		p := plan(100)
		p.Audio.Lost, p.Duration = lost, length
		return p
	}
	withWarning := plan(100)
	withWarning.Warnings = []video.Warning{cut}
	tests := []struct {
		name   string
		plan   *video.Plan
		frames []int
		sound  bool
		want   []video.Warning
	}{
		{"all is well", plan(500, 400), []int{500, 400}, true, nil},
		{"more than announced is well", plan(500), []int{520}, true, nil},
		{"nobody sees two frames", plan(50), []int{48}, true, nil},
		{"nor one of a hundred", plan(500, 500), []int{495, 496}, true, nil},
		{"a chunk that is gone", plan(500, 400), []int{500, 0}, true, damaged("The file is damaged: 400 of its 900 frames could not be decoded.")},
		{"too many in one chunk do not make up for another", plan(100, 100), []int{120, 80}, true, damaged("The file is damaged: 20 of its 200 frames could not be decoded.")},
		{"nothing was announced", plan(0, 0), []int{3, 0}, true, nil},
		{"the sound is gone", plan(100), []int{100}, false, damaged("The audio is damaged and could not be decoded; the video is silent.")},
		{"half of the sound is gone", lacking(2*time.Second, 4*time.Second), []int{100}, true, damaged("The audio is damaged: 2.0 s of it could not be decoded and is silent.")},
		{"a little of a long film is gone", lacking(6*time.Second, 2*time.Hour), []int{100}, true, damaged("The audio is damaged: 6.0 s of it could not be decoded and is silent.")},
		{"nobody hears a few packets", lacking(400*time.Millisecond, 4*time.Second), []int{100}, true, nil},
		{"nor a second of an hour", lacking(time.Second, time.Hour), []int{100}, true, nil},
		{"all of the sound is gone, which is told once", lacking(4*time.Second, 4*time.Second), []int{100}, false, damaged("The audio is damaged and could not be decoded; the video is silent.")},
		{"what the plan knew comes first", withWarning, []int{50}, true,
			append([]video.Warning{cut}, damaged("The file is damaged: 50 of its 100 frames could not be decoded.")...)},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.plan.Verdict(tt.frames, tt.sound)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	silent := &video.Plan{}
	if w := silent.Verdict(nil, false); w != nil {
		t.Errorf("a film that never had sound: %v; want no warning", w)
	}
}

func TestLasting(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{0.24: "0.2 s", 59.9: "59.9 s", 61: "1 min 1 s", 3599: "59 min 59 s", 7384: "2 h 3 min"} {
		if got := video.Lasting(seconds); got != want {
			t.Errorf("Lasting(%v) = %q; want %q", seconds, got, want)
		}
	}
}
