package media

import (
	"fmt"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// target is what a filter graph makes its pictures for.
type target int

const (
	toVideo target = iota // 8-bit 4:2:0 of television, tagged
	toJPEG                // what every JPEG viewer assumes: BT.601, full range
)

// graph joins the filters of one decode to one output for each rendition,
// labelled [v0], [v1] and so on. Every size is scaled from the next larger one:
// scaling each from the source costs far more, and looks the same.
//
// stretch are the filters that choose the frames.
func graph(p *video.Plan, stretch []string, to target) string {
	filters := append([]string(nil), stretch...)
	if p.Deinterlace {
		filters = append(filters, "bwdif=mode=send_frame:deint=interlaced")
	}
	filters = append(filters, head(p, to)...)

	var g strings.Builder
	fmt.Fprintf(&g, "[0:%d]%s", p.Input.VideoStream, strings.Join(filters, ","))
	for i, r := range p.Renditions {
		if i > 0 {
			// Scaling by rounded factors makes pixels that are not quite square.
			fmt.Fprintf(&g, ";[s%d]scale=%d:%d:flags=bicubic,setsar=1", i, r.Width, r.Height)
		}
		if i == len(p.Renditions)-1 {
			fmt.Fprintf(&g, "[v%d]", i)
		} else {
			fmt.Fprintf(&g, ",split[v%d][s%d]", i, i+1)
		}
	}
	return g.String()
}

// head brings a decoded frame to the largest size in the colours of the output.
// The costly steps come after scaling, which mostly shrinks. ffmpeg itself has
// turned the frame before: when told not to, it would turn the outputs instead.
func head(p *video.Plan, to target) []string {
	filters := []string{headScale(p, to)}
	if p.ToneMap {
		filters = append(filters, toneMap(p.Input))
		if to == toJPEG {
			filters = append(filters, "scale=in_range=tv:out_range=pc:in_color_matrix=bt709:out_color_matrix=bt601")
		}
	}
	pixels, c, scale := "yuv420p", outputColour(p), "tv"
	if to == toJPEG {
		pixels, c, scale = "yuvj420p", bt601, "pc"
	}
	filters = append(filters, "format="+pixels)
	return append(filters, "setsar=1",
		fmt.Sprintf("setparams=range=%s:colorspace=%s:color_primaries=%s:color_trc=%s", scale, c.matrix, c.primaries, c.transfer))
}

// headScale scales to the largest rendition. It is there even when the size is
// right already: it then hands frames through, but catches the frames of a
// source that changes its size half-way.
func headScale(p *video.Plan, to target) string {
	r := p.Renditions[0]
	s := fmt.Sprintf("scale=%d:%d:flags=bicubic", r.Width, r.Height)
	if p.ToneMap {
		return s // the tone mapper converts the colours
	}
	in, rgb := p.Input, isRGB(p.Input.PixelFormat)
	if in.FullRange && !rgb {
		s += ":in_range=pc"
	}
	if to == toJPEG {
		if in.Matrix == "" && !rgb {
			s += ":in_color_matrix=" + outputColour(p).matrix
		}
		return s + ":out_range=pc:out_color_matrix=bt601"
	}
	if in.FullRange || rgb {
		s += ":out_range=tv"
	}
	if needsMatrix(in) {
		s += ":out_color_matrix=bt709"
	}
	return s
}

// chunkFilters let exactly the frames of chunk n pass and move the film's first
// frame to time zero.
func chunkFilters(p *video.Plan, n int) []string {
	filters := []string{increasing}
	if timed(p.Input) {
		c := p.Chunks[n]
		trim := fmt.Sprintf("trim=start_pts=%d", c.Start)
		if c.End != video.Forever {
			trim += fmt.Sprintf(":end_pts=%d", c.End)
		}
		filters = append(filters, trim, fmt.Sprintf("setpts=PTS-(%d)", p.FirstPTS))
	} else {
		filters = append(filters, "setpts=PTS-STARTPTS")
	}
	if p.LimitRate > 0 {
		// Frames are left out and none is moved, so that what is left keeps its
		// exact time. The slack is for times rounded to milliseconds.
		filters = append(filters, fmt.Sprintf("select='isnan(prev_selected_t)+gte(t-prev_selected_t,%.6f)'", 0.95/float64(p.LimitRate)))
	}
	return filters
}

// increasing drops frames that do not advance: some sources hold two frames for
// one moment, which no MP4 can.
const increasing = "select='isnan(prev_selected_pts)+gt(pts,prev_selected_pts)'"

// timed reports whether the container says when each frame is shown. In the
// others ffmpeg counts frames, and where it begins to count is not ours to know.
func timed(in video.Input) bool {
	switch in.Container {
	case "avi", "h264", "hevc", "m4v", "mpegvideo":
		return false
	}
	return true
}
