package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestTrials(t *testing.T) {
	t.Parallel()
	const mov = "mov,mp4"
	full := video.Rendition{Width: 1920, Height: 1080}
	tests := []struct {
		name          string
		length, every time.Duration
		container     string
		size          video.Rendition
		jumps         []int64
		starts, seeks []int64 // milliseconds from the first frame; -1 reads from the beginning
		frames        int64
	}{
		{"a long film at four keyframes", time.Minute, 2 * time.Second, mov, full, nil, []int64{8000, 22000, 38000, 52000}, []int64{8000, 22000, 38000, 52000}, 9},
		{"a very long one takes no more frames", time.Hour, 10 * time.Second, mov, full, nil, []int64{450_000, 1_350_000, 2_250_000, 3_150_000}, []int64{450_000, 1_350_000, 2_250_000, 3_150_000}, 12},
		{"a clip at two", 8 * time.Second, time.Second, mov, full, nil, []int64{2000, 6000}, []int64{2000, 6000}, 6},
		{"one keyframe earlier where seeking is vague", 8 * time.Second, time.Second, "mpegts", full, nil, []int64{2000, 6000}, []int64{1000, 5000}, 6},
		{"not what lies far behind where that would begin", time.Minute, 12 * time.Second, "mpegts", full, nil, nil, nil, 0},
		{"but what does not", time.Minute, 8 * time.Second, "mpegts", full, nil, []int64{8000, 24000, 40000, 56000}, []int64{-1, 16000, 32000, 48000}, 9},
		{"the beginning, once, of a film without keyframes", time.Minute, time.Hour, mov, full, nil, []int64{0}, []int64{-1}, 9},
		{"not a short clip", 3 * time.Second, time.Second, mov, full, nil, nil, nil, 0},
		{"nor a small one", 30 * time.Second, time.Second, mov, video.Rendition{Width: 320, Height: 180}, nil, nil, nil, 0},
		{"nor a still", 40 * time.Millisecond, time.Second, mov, full, nil, nil, nil, 0},
		{"nor one without times", time.Minute, time.Second, "avi", full, nil, nil, nil, 0},
		{"nor one whose clock jumps", time.Minute, time.Second, mov, full, []int64{5}, nil, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &video.Plan{
				Input:      video.Input{Container: tt.container, TimeBase: video.Ratio{Num: 1, Den: 1000}, FrameRate: 25, CodedWidth: 1920, CodedHeight: 1080},
				Renditions: []video.Rendition{tt.size}, Jumps: tt.jumps,
			}
			var starts, seeks []int64
			for _, c := range trials(p, steadyFilm(tt.length, tt.every), tt.container == mov) {
				starts = append(starts, c.Start-1000)
				if c.Seek == video.NoSeek {
					c.Seek = 999
				}
				seeks = append(seeks, c.Seek-1000)
				if got := (c.End - c.Start) / 40; got != tt.frames {
					t.Errorf("a trial has %d frames, want %d", got, tt.frames)
				}
			}
			if !slices.Equal(starts, tt.starts) || !slices.Equal(seeks, tt.seeks) {
				t.Errorf("trials begin at %v after seeking to %v; want %v and %v", starts, seeks, tt.starts, tt.seeks)
			}
		})
	}
}

// A large source is slow to decode, so that fewer frames are tried.
func TestTrialsOfALargeSource(t *testing.T) {
	t.Parallel()
	p := &video.Plan{
		Input:      video.Input{Container: "mov,mp4", TimeBase: video.Ratio{Num: 1, Den: 1000}, FrameRate: 25, CodedWidth: 3840, CodedHeight: 2160},
		Renditions: []video.Rendition{{Width: 1920, Height: 1080}},
	}
	all := trials(p, steadyFilm(time.Minute, 2*time.Second), true)
	if len(all) != maxTrials {
		t.Errorf("there are %d trials, want %d", len(all), maxTrials)
	}
	for _, c := range all {
		if got := (c.End - c.Start) / 40; got != trialGroup {
			t.Errorf("a trial has %d frames, want %d", got, trialGroup)
		}
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
