package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestWhichVideosPlayEarly(t *testing.T) {
	t.Parallel()
	ms := video.Ratio{Num: 1, Den: 1000}
	slides := probe.NewTimeline()
	for i := range 90 {
		slides.Add(probe.Packet{Type: "video", PTS: int64(i) * 1000, Duration: 1000, Flags: "K_"})
	}
	slides.Sort()
	tests := []struct {
		name   string
		line   *probe.Timeline
		length time.Duration
		jumps  []int64
		want   bool
	}{
		{"a film", packets(90, false), 90 * time.Second, nil, true},
		{"a clip", packets(40, false), 40 * time.Second, nil, false},
		{"a slide show", slides, 90 * time.Second, nil, false},
		{"a clock that jumps", packets(90, false), 90 * time.Second, []int64{1}, false},
	}
	for _, tt := range tests {
		p := &video.Plan{Input: video.Input{TimeBase: ms}, Duration: tt.length, Jumps: tt.jumps}
		if got := playsEarly(p, DefaultChunking, tt.line, frameLimit{}); got != tt.want {
			t.Errorf("%s plays early: %t", tt.name, got)
		}
	}
}

func TestTheFirstChunksAreShort(t *testing.T) {
	t.Parallel()
	var starts []int64
	for _, c := range DefaultChunking.chunks(packets(400, false), video.Ratio{Num: 1, Den: 1000}, true, true, frameLimit{}) {
		starts = append(starts, c.Start/1000)
	}
	if want := []int64{0, 6, 12, 24, 44, 64}; !slices.Equal(starts[:6], want) {
		t.Errorf("the chunks begin at %v; want %v and so on", starts, want)
	}
}

func TestSmallRenditionsComeFirst(t *testing.T) {
	t.Parallel()
	sizes := func(sides ...int) (all []video.Rendition) {
		for _, s := range sides {
			all = append(all, video.Rendition{Width: 2 * s, Height: s})
		}
		return all
	}
	tests := []struct {
		renditions []video.Rendition
		large      int
	}{
		{sizes(1080, 720, 480, 360), 2}, {sizes(1080, 720), 1}, {sizes(1080), 0}, {sizes(480, 240), 0},
	}
	for _, tt := range tests {
		p := &video.Plan{Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}, Timescale: 1000, Duration: time.Hour, Renditions: tt.renditions, Audio: &video.Audio{}}
		e := divide(p, packets(90, false), frameLimit{})
		if e.Large != tt.large || e.Delay != 82 || !slices.Equal(e.Pieces, []int64{1875, 56250}) {
			t.Errorf("%v are divided as %+v; want %d large ones", tt.renditions, e, tt.large)
		}
	}
}
