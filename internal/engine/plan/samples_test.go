package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	const mov = "mov,mp4"
	tests := []struct {
		name          string
		length, every time.Duration
		container     string
		starts, seeks []int64 // from the video's first frame; -1 reads from the beginning
	}{
		{"where keyframes of both fall together", time.Minute, 2 * time.Second, mov, []int64{0, 30000, 58000}, []int64{-1, 30000, 58000}},
		{"one keyframe earlier where seeking is vague", time.Minute, 2 * time.Second, "mpegts", []int64{0, 30000, 58000}, []int64{-1, 28000, 56000}},
		{"where a keyframe of the videos follows soonest", time.Minute, 3 * time.Second, mov, []int64{0, 30000, 54000}, []int64{-1, 30000, 54000}},
		{"at a keyframe of the source that is soon after one of the videos", 20 * time.Second, 8400 * time.Millisecond, mov, []int64{0, 8400, 16800}, []int64{-1, 8400, 16800}},
		{"at the beginning of a chunk", 47 * time.Second, 21 * time.Second, mov, []int64{0, 21000, 42000}, []int64{-1, 21000, 42000}},
		{"not far from a single keyframe", 24 * time.Second, time.Hour, mov, []int64{0, 2000}, []int64{-1, -1}},
		{"nor in a long video", time.Hour, 10 * time.Hour, mov, []int64{0, 2000, 4000}, []int64{-1, -1, -1}},
		{"without times only at the beginning", time.Minute, 2 * time.Second, "avi", []int64{0, 2000, 4000}, []int64{-1, -1, -1}},
		{"not where too little is left", 12100 * time.Millisecond, 4 * time.Second, mov, []int64{0, 8000, 10000}, []int64{-1, 8000, 8000}},
		{"once in a short clip", 600 * time.Millisecond, time.Hour, mov, []int64{0}, []int64{-1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &video.Plan{
				Input:      video.Input{Container: tt.container, TimeBase: video.Ratio{Num: 1, Den: 1000}, CodedWidth: 1280, CodedHeight: 720},
				Chunks:     []video.Chunk{{Start: 1000, End: 22000}, {Start: 22000, End: video.Forever}},
				Renditions: []video.Rendition{{Width: 1280, Height: 720}},
			}
			var starts, seeks []int64
			for _, s := range samples(p, steadyFilm(tt.length, tt.every), tt.container == mov) {
				starts = append(starts, s.Start-1000)
				if s.Seek == video.NoSeek {
					s.Seek = 999
				}
				seeks = append(seeks, s.Seek-1000)
				if want := min(max(tt.length.Milliseconds()/60, 100), 500); s.End-s.Start > want || s.End-s.Start < want-10 {
					t.Errorf("a sample is %d ms long; want %d", s.End-s.Start, want)
				}
			}
			if !slices.Equal(starts, tt.starts) || !slices.Equal(seeks, tt.seeks) {
				t.Errorf("samples begin at %v, seeks go to %v; want %v and %v", starts, seeks, tt.starts, tt.seeks)
			}
		})
	}
}

// steadyFilm is a timeline of 25 frames a second with a keyframe every so often, from millisecond 1000.
func steadyFilm(length, every time.Duration) *probe.Timeline {
	l := probe.NewTimeline()
	for at := time.Duration(0); at < length; at += 40 * time.Millisecond {
		p := probe.Packet{Type: "video", PTS: 1000 + at.Milliseconds(), DTS: 1000 + at.Milliseconds(), Duration: 40, Flags: "__"}
		if at%every == 0 {
			p.Flags = "K_"
		}
		l.Add(p)
	}
	l.Sort()
	return l
}
