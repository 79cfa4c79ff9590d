package encode

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// basicPlan is a video of 50 s in two chunks; cases change what they are about.
func basicPlan(change func(*video.Plan)) *video.Plan {
	p := &video.Plan{
		Input: video.Input{
			Container: "mov,mp4,m4a,3gp,3g2,mj2", VideoStream: 0, Codec: "h264", PixelFormat: "yuv420p",
			Width: 1920, Height: 1080, CodedWidth: 1920, CodedHeight: 1080,
			TimeBase: video.Ratio{Num: 1, Den: 12800}, FrameRate: 25, Matrix: "bt709", Transfer: "bt709", Primaries: "bt709",
		},
		Timescale: 12800, FirstPTS: 1024, Duration: 50 * time.Second, Frames: 1250,
		Renditions: []video.Rendition{
			{Width: 1920, Height: 1080, Names: []video.Name{"1080p"}},
			{Width: 1280, Height: 720, Names: []video.Name{"720p"}},
			{Width: 256, Height: 144, Names: []video.Name{"144p"}},
		},
		Chunks: []video.Chunk{
			{Start: 1024, End: 257024, Seek: video.NoSeek},
			{Start: 257024, End: video.Forever, Seek: 244224},
		},
		Audio:      &video.Audio{Stream: 1, Codec: "aac", Channels: 6, Bitrate: 128_000},
		Thumbnails: []video.Thumbnail{{Seconds: 21, PTS: 269824, Seek: 257024}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestArguments(t *testing.T) {
	t.Parallel()
	job := ffmpeg.Job{Source: "/task/in/source", OutDir: "/task/out"}
	chunkWith := func(n int, with codecEncoder, change func(*video.Plan)) []string {
		return chunkArgs(job, basicPlan(change), n, with, 2)
	}
	chunk := func(n int, change func(*video.Plan)) []string { return chunkWith(n, encoders[0], change) }
	tests := []struct {
		golden string
		args   []string
	}{
		{"chunk_first", chunk(0, nil)},
		{"chunk_last_after_open_group", chunk(1, nil)},
		{"chunk_turned_and_anamorphic", chunk(0, func(p *video.Plan) {
			p.Input.Rotation, p.Input.Width, p.Input.Height = 90, 1080, 1920
			p.Renditions = []video.Rendition{{Width: 720, Height: 1280, Names: []video.Name{"720p"}}}
		})},
		{"chunk_interlaced_sd", chunk(0, func(p *video.Plan) {
			p.Deinterlace, p.Input.Matrix = true, "smpte170m"
		})},
		{"chunk_hdr", chunk(0, func(p *video.Plan) {
			p.ToneMap = true
			p.Input.Matrix, p.Input.Transfer, p.Input.Primaries, p.Input.PixelFormat = "bt2020nc", "smpte2084", "bt2020", "yuv420p10le"
		})},
		{"chunk_full_range_120fps", chunk(0, func(p *video.Plan) {
			p.Input.FullRange, p.Input.FrameRate, p.LimitRate = true, 119.88, 60
		})},
		{"chunk_rgb_without_times", chunk(0, func(p *video.Plan) {
			p.Input.Container, p.Input.PixelFormat, p.Input.Matrix = "avi", "rgb555le", ""
		})},
		{"chunk_small", chunk(0, func(p *video.Plan) { p.Quality = video.Small })},
		{"chunk_of_a_source_of_one_megabit", chunk(1, func(p *video.Plan) { p.Renditions[0].MaxBitrate = map[video.Codec]int64{video.H264: 1_000_000} })},
		{"chunk_av1_beside_h264", chunkWith(0, encoderNamed(t, "libsvtav1"), func(p *video.Plan) {
			p.Codec = video.AV1
		})},
		{"chunk_hevc_beside_h264", chunkWith(0, encoderNamed(t, "libx265"), func(p *video.Plan) { p.Codec = video.HEVC })},
		{"chunk_hevc_keeps_hdr", chunkWith(0, encoderNamed(t, "libx265"), func(p *video.Plan) {
			p.Codec, p.ToneMap, p.Kept, p.Input.Container, p.Input.FullRange = video.HEVC, true, video.PQ, "matroska,webm", true
			p.Input.Matrix, p.Input.Transfer, p.Input.Primaries, p.Input.PixelFormat = "bt2020nc", "smpte2084", "bt2020", "yuv420p10le"
		})},
		{"chunk_nvenc", chunkWith(0, encoderNamed(t, "h264_nvenc"), nil)},
		{"chunk_qsv", chunkWith(0, encoderNamed(t, "h264_qsv"), nil)},
		{"chunk_vaapi", chunkWith(0, encoderNamed(t, "h264_vaapi"), nil)},
		{"chunk_with_a_crf_of_its_own", chunk(0, func(p *video.Plan) {
			p.Renditions[0].CRF = map[video.Codec]float64{video.H264: 27.5, video.AV1: 41}
		})},
		{"audio", audioArgs(job, basicPlan(nil), audioRun{}, 2)},
		{"audio_with_long_silences", audioArgs(job, basicPlan(func(p *video.Plan) {
			p.Duration = 2 * time.Hour
			p.Audio.Silences = []video.Silence{{To: 10 * time.Minute}, {From: 20 * time.Minute, To: time.Hour}}
		}), audioRun{}, 2)},
		{"audio_that_is_measured", audioArgs(job, basicPlan(nil), audioRun{measured: true}, 2)},
		{"audio_with_a_gain_and_a_limiter", audioArgs(job, basicPlan(nil).Levelled(&video.Loudness{Gain: 7.5, Limit: new(-1.5)}), audioRun{}, 2)},
		{"audio_with_a_clock_that_jumps", audioArgs(job, basicPlan(func(p *video.Plan) {
			p.Audio.Jumps = []time.Duration{1500 * time.Millisecond, 4 * time.Second}
		}), audioRun{}, 2)},
		{"chunk_with_a_clock_that_jumps", chunk(0, func(p *video.Plan) {
			p.Jumps, p.Input.Container = []int64{2000, -500}, "mpegts"
		})},
		{"chunk_dolby_vision", chunk(0, func(p *video.Plan) { p.Input.Dolby, p.ToneMap = colour.ParseDolby(nil), true })},
		{"thumbnails", thumbnailArgs(job, basicPlan(nil), plan.Batch{Seek: 257024, Shots: []plan.Shot{{PTS: 269824}, {PTS: 270336}}}, stillOptions{threads: 2, quality: 3})},
		{"thumbnails_interlaced", thumbnailArgs(job, basicPlan(func(p *video.Plan) { p.Deinterlace = true }), plan.Batch{Seek: 257024, Shots: []plan.Shot{{PTS: 269824}}}, stillOptions{threads: 2, quality: 3})},
		{"thumbnail_hdr_first_frame", thumbnailArgs(job, basicPlan(func(p *video.Plan) {
			p.ToneMap, p.Input.Transfer, p.Input.Matrix, p.Input.Primaries = true, "arib-std-b67", "", ""
		}), plan.Batch{Seek: video.NoSeek, Shots: []plan.Shot{{PTS: video.NoSeek}}}, stillOptions{quality: 3})},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			enginetest.Golden(t, tt.golden, tt.args)
		})
	}
}
