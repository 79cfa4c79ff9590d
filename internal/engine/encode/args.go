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
	encoded := encodedOnly(p)
	args := slices.Concat(with.setup, ffmpeg.FrameArgs(job, p.Input, p.Chunks[n].Seek, threads))
	if len(encoded.Renditions) == 0 {
		args = append(args, decodeArgs(job, p, n)...)
	} else {
		args = append(args, "-filter_complex", encodedGraph(encoded, n, with))
	}
	output := "[v%d]"
	if len(lastFilters(p, n, with)) > 0 {
		output = "[d%d]"
	}
	next := 0 // of those that are encoded
	for i, r := range p.Renditions {
		if r.Making == video.Copied {
			args = append(args, copyArgs(p, n)...)
		} else {
			args = append(args, "-map", fmt.Sprintf(output, next))
			args = append(args, with.renditionArgs(p, r, n, threads)...)
			args = append(args, "-fps_mode", "passthrough", "-enc_time_base", "1:"+strconv.Itoa(p.Timescale))
			if !ffmpeg.HasTimestamps(p.Input) {
				args = append(args, "-bsf:v", fromZero)
			}
			next++
		}
		args = append(args, chunkFileArgs(job, p, i)...)
	}
	return args
}

// encodedOnly returns the plan as if the renditions that are encoded were all of it.
func encodedOnly(p *video.Plan) *video.Plan {
	other := *p
	other.Renditions = slices.DeleteFunc(slices.Clone(p.Renditions), func(r video.Rendition) bool { return r.Making == video.Copied })
	return &other
}

// lastFilters are what every rendition of chunk n goes through at last.
func lastFilters(p *video.Plan, n int, with codecEncoder) []string {
	return slices.DeleteFunc([]string{stillFrames(p, n), with.upload}, func(f string) bool { return f == "" })
}

// encodedGraph makes the frames of chunk n for all renditions of a plan, in the memory of the device that encodes them.
func encodedGraph(p *video.Plan, n int, with codecEncoder) string {
	filters := graphFrom(sourceLabel(p), p, chunkFilters(p, n), toVideo, func(r video.Rendition) string { return thinFilter(p, r) })
	if last := lastFilters(p, n, with); len(last) > 0 {
		for i := range p.Renditions {
			filters += fmt.Sprintf(";[v%[1]d]%[2]s[d%[1]d]", i, strings.Join(last, ","))
		}
	}
	return filters
}

// chunkFileArgs are the options of the chunk file of rendition i, and its name.
func chunkFileArgs(job ffmpeg.Job, p *video.Plan, i int) []string {
	scale := strconv.Itoa(p.Timescale)
	return slices.Concat(ffmpeg.NoMetadata, []string{"-avoid_negative_ts", "disabled",
		"-movie_timescale", scale, "-video_track_timescale", scale,
		"-f", "mp4", ffmpeg.FileURL(chunkFilePath(job, i))})
}

// keyframes forces the keyframes of chunk n: those that the plan names, or the first frame of every two seconds of the
// video. Times count as in the output; half a millisecond makes up for rounding.
func keyframes(p *video.Plan, n int) string {
	keys := p.Chunks[n].Keys
	if len(keys) == 0 {
		return keyGrid(p, n)
	}
	times := make([]string, len(keys))
	for i, k := range keys {
		times[i] = strconv.FormatFloat(max(p.Input.TimeBase.Seconds(k-p.FirstPTS)-0.0005, 0), 'f', 4, 64)
	}
	return strings.Join(times, ",")
}

// keyGrid forces a keyframe at the first frame of every two seconds of the
// video. In the expression, t counts from the first frame of the chunk.
func keyGrid(p *video.Plan, n int) string {
	start := p.Input.TimeBase.Seconds(p.Chunks[n].Start - p.FirstPTS)
	return fmt.Sprintf("expr:isnan(prev_forced_t)+gt(floor((t+%[1]f)/2+1e-5),floor((prev_forced_t+%[1]f)/2+1e-5))", start)
}
