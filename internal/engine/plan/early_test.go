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

// TestTheFirstChunksAreShort cuts a film with a keyframe every second, and one that has them every 20 s.
func TestTheFirstChunksAreShort(t *testing.T) {
	t.Parallel()
	ms := video.Ratio{Num: 1, Den: 1000}
	sparse := packets(400, false)
	sparse.Keys = slices.DeleteFunc(sparse.Keys, func(k probe.Keyframe) bool { return k.PTS%20_000 != 0 })
	none := int64(video.NoSeek)
	for _, tt := range []struct {
		name   string
		line   *probe.Timeline
		cut    Chunking
		head   headCut
		starts []int64
		seeks  []int64
	}{
		{"at keyframes", packets(400, false), DefaultChunking, atKeyframes, []int64{0, 10_000, 14_000, 22_000, 26_000, 30_000, 38_000}, []int64{none, 10_000, 14_000, 22_000, 26_000, 30_000, 38_000}},
		{"at any frame", sparse, DefaultChunking, atFrames, []int64{0, 9280, 14_000, 22_000, 26_000, 30_000, 38_000, 46_000, 58_000, 70_000, 100_000}, []int64{none, none, none, 20_000, 20_000, 20_000, 20_000, 40_000, 40_000, 60_000, 100_000}},
		{"at few keyframes", sparse, DefaultChunking, atKeyframes, []int64{0, 20_000, 40_000, 60_000}, []int64{none, 20_000, 40_000, 60_000}},
		{"of a very large film", sparse, DefaultChunking.forPixels(1e12), atFrames, []int64{0, 5000, 9280, 14_000, 19_000, 22_000, 26_000}, []int64{none, none, none, none, none, 20_000, 20_000}},
	} {
		chunks := tt.cut.chunks(tt.line, ms, borders(tt.line), true, tt.head, frameLimit{})
		for i, c := range chunks[:len(tt.starts)] {
			if c.Start != tt.starts[i] || c.Seek != tt.seeks[i] || c.End != chunks[i+1].Start {
				t.Errorf("%s: chunk %d is %+v; want one from %d that is decoded from %d on", tt.name, i, c, tt.starts[i], tt.seeks[i])
			}
		}
	}
}

// TestWhereTheFirstChunksAreCut wants borders at any frame only where each packet is one.
func TestWhereTheFirstChunksAreCut(t *testing.T) {
	t.Parallel()
	tangled := packets(90, false)
	tangled.Tangled = true
	for _, tt := range []struct {
		codec  string
		length time.Duration
		line   *probe.Timeline
		want   headCut
	}{
		{"h264", 90 * time.Second, packets(90, false), atFrames},
		{"vp9", 90 * time.Second, packets(90, false), atKeyframes},
		{"h264", 90 * time.Second, tangled, atKeyframes},
		{"h264", 40 * time.Second, packets(40, false), likeTheRest},
	} {
		p := &video.Plan{Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}, Duration: tt.length}
		if got := headOf(p, DefaultChunking, probe.Stream{Codec: tt.codec}, tt.line, frameLimit{}); got != tt.want {
			t.Errorf("%s of %v: %d; want %d", tt.codec, tt.length, got, tt.want)
		}
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
		if e.Large != tt.large || e.Delay != 82 || !slices.Equal(e.Pieces, []int64{1031, 5156, 51562}) {
			t.Errorf("%v are divided as %+v; want %d large ones", tt.renditions, e, tt.large)
		}
	}
}
