package encode

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// chunkFilePath is where EncodeChunk puts a rendition.
func chunkFilePath(job ffmpeg.Job, rendition int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("v%d.mp4", rendition))
}

// fromZero lets a video begin at time zero whose container does not say when its
// frames are shown. It works on encoded packets: a filter would be restarted,
// and the times with it, where the source changes its size.
const fromZero = "setts=pts=PTS-STARTPTS:dts=DTS-STARTPTS"

// chunkArgs encodes chunk n at every rendition. A chunk file is an ordinary MP4
// whose edit list says when it begins on the timeline of the video.
func chunkArgs(job ffmpeg.Job, p *video.Plan, n int, with codecEncoder, threads int) []string {
	filters := graphFrom(sourceLabel(p), p, chunkFilters(p, n), toVideo, func(r video.Rendition) string { return thinFilter(p, r) })
	output := "[v%d]"
	if last := slices.DeleteFunc([]string{stillFrames(p, n), with.upload}, func(f string) bool { return f == "" }); len(last) > 0 {
		output = "[d%d]" // in the memory of the device
		for i := range p.Renditions {
			filters += fmt.Sprintf(";[v%[1]d]%[2]s[d%[1]d]", i, strings.Join(last, ","))
		}
	}
	args := slices.Concat(with.setup, ffmpeg.FrameArgs(job, p.Input, p.Chunks[n].Seek, threads), []string{"-filter_complex", filters})
	scale := strconv.Itoa(p.Timescale)
	for i, r := range p.Renditions {
		args = append(args, "-map", fmt.Sprintf(output, i))
		args = append(args, with.renditionArgs(p, r, n, threads)...)
		args = append(args, "-fps_mode", "passthrough", "-enc_time_base", "1:"+scale)
		if !ffmpeg.HasTimestamps(p.Input) {
			args = append(args, "-bsf:v", fromZero)
		}
		args = append(args, ffmpeg.NoMetadata...)
		args = append(args, "-avoid_negative_ts", "disabled",
			"-movie_timescale", scale, "-video_track_timescale", scale,
			"-f", "mp4", ffmpeg.FileURL(chunkFilePath(job, i)))
	}
	return args
}

// keyGrid forces a keyframe at the first frame of every two seconds of the
// video. In the expression, t counts from the first frame of the chunk.
func keyGrid(p *video.Plan, n int) string {
	start := p.Input.TimeBase.Seconds(p.Chunks[n].Start - p.FirstPTS)
	return fmt.Sprintf("expr:isnan(prev_forced_t)+gt(floor((t+%[1]f)/2+1e-5),floor((prev_forced_t+%[1]f)/2+1e-5))", start)
}
