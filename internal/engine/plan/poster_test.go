package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// posterPlan plans a video of 25 frames a second with a keyframe every so many frames.
func posterPlan(t *testing.T, container string, frames, keyEvery, width, height int, timed bool) *video.Plan {
	t.Helper()
	var packets []string
	for i := range frames {
		flags, pts := "__", fmt.Sprintf(`"pts":%d,`, 1000+i*40)
		if i%keyEvery == 0 {
			flags = "K_"
		}
		if !timed {
			pts = ""
		}
		packets = append(packets, fmt.Sprintf(`{"codec_type":"video","stream_index":0,%s"dts":%d,"duration":40,"size":"9","flags":"%s"}`, pts, 1000+i*40, flags))
	}
	found := probe.NewResult()
	err := found.Read(strings.NewReader(fmt.Sprintf(`{"packets":[%s],"streams":[{"index":0,"codec_type":"video","codec_name":"h264","width":%d,"height":%d,
		"pix_fmt":"yuv420p","time_base":"1/1000"}],"format":{"format_name":"%s"}}`, strings.Join(packets, ","), width, height, container)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(found, Request{Names: []video.Name{"144p"}}, DefaultChunking, DefaultSizes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPosterFrames(t *testing.T) {
	t.Parallel()
	const first = "0.00 from the beginning"
	tests := []struct {
		name, container  string
		frames, keyEvery int
		timed            bool
		want             []string
	}{
		{"keyframes near the places", "mov,mp4", 1000, 25, true, []string{
			"12.00 from 12.00", "20.00 from 20.00", "6.00 from 6.00", "28.00 from 28.00", "16.00 from 16.00", "34.00 from 34.00", first}},
		{"one keyframe earlier where seeking is not exact", "mpegts", 1000, 250, true, []string{
			"10.00 from the beginning", "20.00 from 10.00", "30.00 from 20.00", first}},
		{"parts of a short one with a single keyframe", "mov,mp4", 100, 250, true, []string{
			"0.48 from the beginning", "0.96 from the beginning", "1.96 from the beginning", "2.96 from the beginning", first}},
		{"these after its only other keyframe", "mov,mp4", 100, 50, true, []string{
			"2.00 from 2.00", "0.48 from the beginning", "0.96 from the beginning", "1.96 from the beginning", "2.96 from the beginning", first}},
		{"no more than seconds of a long one", "mov,mp4", 1000, 2000, true, []string{
			"1.00 from the beginning", "2.48 from the beginning", "5.00 from the beginning", "10.00 from the beginning", first}},
		{"the beginning where seeking is impossible", "avi", 1000, 25, false, []string{
			"1.00 from the beginning", "2.48 from the beginning", "5.00 from the beginning", "10.00 from the beginning", first}},
		{"a single frame", "mov,mp4", 1, 1, true, []string{first}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := posterPlan(t, tt.container, tt.frames, tt.keyEvery, 640, 360, tt.timed)
			var got []string
			for _, f := range p.Poster.Frames {
				text := fmt.Sprintf("%.2f from the beginning", p.Input.TimeBase.Seconds(f.PTS-p.FirstPTS))
				if f.Seek != video.NoSeek {
					text = fmt.Sprintf("%.2f from %.2f", p.Input.TimeBase.Seconds(f.PTS-p.FirstPTS), p.Input.TimeBase.Seconds(f.Seek-p.FirstPTS))
				}
				got = append(got, text)
				if later := f.Next - f.PTS; later != 120 && f.PTS+120 <= 1000+int64(tt.frames-1)*40 || later < 0 {
					t.Errorf("the frame at %d is compared with the one %d ms later", f.PTS, later)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("frames are %q; want %q", got, tt.want)
			}
		})
	}
}

// Decoding seconds of very large frames takes longer than a run may stand still.
func TestLateFramesOfALargeVideoAreNotLookedAt(t *testing.T) {
	t.Parallel()
	if got := len(posterPlan(t, "mov,mp4", 100, 250, 7680, 4320, true).Poster.Frames); got != earlySteps+1 {
		t.Errorf("%d frames are looked at; want the early ones and the first", got)
	}
}

func TestPosterSize(t *testing.T) {
	t.Parallel()
	for _, tt := range [][4]int{{640, 360, 640, 360}, {1920, 1080, 1280, 720}, {1080, 1920, 1080, 1920}, {1281, 721, 1280, 720}, {161, 121, 160, 120}, {8192, 16, 1280, 2}, {2, 2, 2, 2}} {
		p := posterPlan(t, "mov,mp4", 2, 1, tt[0], tt[1], true).Poster
		if p.Width != tt[2] || p.Height != tt[3] {
			t.Errorf("the poster of %d × %d has %d × %d; want %d × %d", tt[0], tt[1], p.Width, p.Height, tt[2], tt[3])
		}
	}
}
