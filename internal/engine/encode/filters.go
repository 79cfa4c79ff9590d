package encode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// target is what a filter graph makes its frames for.
type target int

const (
	toVideo target = iota // 8-bit 4:2:0, limited range, tagged
	toJPEG                // what every JPEG viewer assumes: BT.601, full range
	toHDR                 // 10-bit 4:2:0 that keeps the range and the colours of the source; see outputFilters
)

// deinterlace makes one frame of the two fields of each frame that is marked as
// interlaced. It uses the neighbouring frames.
const deinterlace = "bwdif=mode=send_frame:deint=interlaced"

// graph joins the filters of one decode to one output for each rendition,
// labelled [v0], [v1] and so on. Every size is scaled from the next larger one:
// scaling each from the source costs far more, and looks the same.
//
// selection are the filters that choose the frames.
func graph(p *video.Plan, selection []string, to target) string {
	return graphFrom(sourceLabel(p), p, selection, to, everyFrame)
}

// sourceLabel is the stream of the source that is the video.
func sourceLabel(p *video.Plan) string { return fmt.Sprintf("[0:%d]", p.Input.VideoStream) }

// thinning returns the filter that lowers the frame rate of a rendition, or "". Each rendition is thinned from all frames: thinned
// twice, they would not be evenly spaced.
type thinning func(video.Rendition) string

func everyFrame(video.Rendition) string { return "" }

// graphFrom is graph for frames with the given label, instead of the frames of the source.
func graphFrom(label string, p *video.Plan, selection []string, to target, slower thinning) string {
	filters := append([]string(nil), selection...)
	if p.Deinterlace {
		filters = append(filters, deinterlace)
	}
	if f := slower(p.Renditions[0]); f != "" && sameRate(p.Renditions) { // nothing is scaled in vain
		filters, slower = append(filters, f), everyFrame
	}
	filters = append(filters, outputFilters(p, to)...)

	var g strings.Builder
	g.WriteString(label + strings.Join(filters, ","))
	if p.Watermark != nil {
		g.WriteString("[bare];" + watermarkFilters(p, to) + "[mark];[bare][mark]" + overlayFilter(p, to))
	}
	for i, r := range p.Renditions {
		if i > 0 {
			// Scaling by rounded factors makes pixels that are not exactly square.
			fmt.Fprintf(&g, ";[s%d]scale=%d:%d:flags=bicubic,setsar=1", i, r.Width, r.Height)
		}
		last, slow := i == len(p.Renditions)-1, slower(r)
		switch {
		case last && slow == "":
			fmt.Fprintf(&g, "[v%d]", i)
		case last:
			fmt.Fprintf(&g, ",%s[v%d]", slow, i)
		case slow == "":
			fmt.Fprintf(&g, ",split[v%d][s%d]", i, i+1)
		default:
			fmt.Fprintf(&g, ",split[f%[1]d][s%[2]d];[f%[1]d]%[3]s[v%[1]d]", i, i+1, slow)
		}
	}
	return g.String()
}

// sameRate reports whether profiles say the same of the frame rates of renditions.
func sameRate(all []video.Rendition) bool {
	return !slices.ContainsFunc(all, func(r video.Rendition) bool { return r.Profile.MaxFPS != all[0].Profile.MaxFPS })
}

// outputFilters bring a decoded frame to the largest size in the colours of the
// output. The expensive steps come after scaling, which mostly reduces the size.
// ffmpeg itself has rotated the frame before: told not to, it would rotate the
// outputs instead.
func outputFilters(p *video.Plan, to target) []string {
	if to == toVideo && p.OutputRange() != video.SDR {
		to = toHDR
	}
	filters := []string{scaleFilter(p, to)}
	pixels, c, scale := "yuv420p", colour.OutputSpace(p.Input), "tv"
	switch to {
	case toJPEG:
		pixels, c, scale = "yuvj420p", colour.BT601, "pc"
	case toHDR:
		pixels, c = "yuv420p10le", colour.KeptSpace(p.OutputRange())
	}
	if converts(p.Input, to) {
		filters = append(filters, colour.Filters(p.Input)...)
		if to == toJPEG {
			filters = append(filters, "scale=out_range=pc:out_color_matrix=bt601")
		} else {
			// Without dithering, a 10-bit sky shows bands.
			filters = append(filters, "zscale=rin=full:m=bt709:r=limited:d=ordered")
		}
	}
	filters = append(filters, "format="+pixels)
	if mayChangeSize(p.Input) {
		filters = append(filters, fmt.Sprintf("pad=%d:%d:-1:-1%s", p.Renditions[0].Width, p.Renditions[0].Height, perFrame(p.Input, to)))
	}
	return append(filters, "setsar=1",
		fmt.Sprintf("setparams=range=%s:colorspace=%s:color_primaries=%s:color_trc=%s", scale, c.Matrix, c.Primaries, c.Transfer))
}

// converts reports whether a 3D LUT converts the colours of a source.
func converts(in video.Input, to target) bool { return to != toHDR && colour.Transform(in) != nil }

// scaleFilter scales to the largest rendition. It is there even when the size is
// right already: it then passes frames through, but catches the frames of a
// source that changes its size midway.
func scaleFilter(p *video.Plan, to target) string {
	r := p.Renditions[0]
	in, rgb := p.Input, colour.IsRGB(p.Input.PixelFormat)
	s := fmt.Sprintf("scale=%d:%d:flags=bicubic", r.Width, r.Height)
	if mayChangeSize(in) {
		s = "scale=" + fitChanged(in, r) + perFrame(in, to) + ":flags=bicubic"
	}
	if converts(in, to) {
		if in.FullRange && !rgb || in.Dolby != nil {
			s += ":in_range=pc:out_range=pc"
		}
		return s
	}
	if in.FullRange && !rgb {
		s += ":in_range=pc"
	}
	if to == toJPEG {
		if in.Matrix == "" && !rgb {
			s += ":in_color_matrix=" + colour.OutputSpace(p.Input).Matrix
		}
		return s + ":out_range=pc:out_color_matrix=bt601"
	}
	if in.FullRange || rgb {
		s += ":out_range=tv"
	}
	if to != toHDR && colour.NeedsMatrix(in) {
		s += ":out_color_matrix=bt709"
	}
	return s
}

// mayChangeSize reports whether the frames of a source may change their shape midway: broadcasts do, and
// what browsers record as WebM while somebody turns a phone. MP4 has one size, nearly always.
func mayChangeSize(in video.Input) bool {
	return in.Still == "" && !strings.HasPrefix(in.Container, "mov,") && in.CodedWidth > 0 && in.CodedHeight > 0
}

// perFrame has a filter look at each frame. Where only the shape of the pixels changes, as in a broadcast that
// becomes wide, ffmpeg does not make new filters, as it does for another size. The filters of HDR could
// not go on with another size, and no source has both.
func perFrame(in video.Input, to target) string {
	if converts(in, to) {
		return ""
	}
	return ":eval=frame"
}

// fitChanged is the size to which frames are scaled: the rendition's size, unless they have another shape
// than the first ones had, or pixels of another shape. Such frames keep their own shape inside of it, and pad
// puts black around them. ffmpeg evaluates it once for each size of frames.
func fitChanged(in video.Input, r video.Rendition) string {
	width, height := in.CodedWidth, in.CodedHeight
	if in.Rotation%180 != 0 {
		width, height = height, width
	}
	usual := fmt.Sprintf("between(iw*%d/(ih*%d),0.95,1.05)", height, width)
	if in.Width > 0 && in.Height > 0 {
		// Pixels of an absurd shape are taken for square ones, so they tell nothing.
		usual += fmt.Sprintf("*(between(sar*%d/%d,0.9,1.1)+not(between(sar,0.1,10)))", width*in.Height, height*in.Width)
	}
	return fmt.Sprintf("w='if(%[1]s,%[2]d,clip(2*round(%[3]d*dar/2),2,%[2]d))':h='if(%[1]s,%[3]d,clip(2*round(%[2]d/dar/2),2,%[3]d))'", usual, r.Width, r.Height)
}

// chunkFilters pass exactly the frames of chunk n and move the first frame of
// the video to time zero.
func chunkFilters(p *video.Plan, n int) []string {
	if p.IsStill() {
		return nil // see stillFrames
	}
	filters := append(clockFilters(p), dropRepeatedTimes)
	if ffmpeg.HasTimestamps(p.Input) {
		c := p.Chunks[n]
		trim := fmt.Sprintf("trim=start_pts=%d", c.Start)
		if c.End != video.Forever {
			trim += fmt.Sprintf(":end_pts=%d", c.End)
		}
		filters = append(filters, trim, fmt.Sprintf("setpts=PTS-(%d)", p.FirstPTS))
	} else if p.Part != nil {
		filters = append(filters, countedPart(p)...)
	} // fromZero lets it begin at zero
	if p.LimitRate > 0 {
		filters = append(filters, frameLimitFilter(p.LimitRate))
	}
	return filters
}

// countedPart passes the part of a source whose times are only counted, from an unknown number on. Counting may differ a
// little, so the part begins and ends somewhat before its frames.
func countedPart(p *video.Plan) []string {
	slack := int64(p.Input.TimeBase.Ticks(0.25 / max(p.Input.FrameRate, 1)))
	trim := fmt.Sprintf("trim=start_pts=%d", max(p.FirstPTS-p.Part.Origin-slack, 0))
	if p.Part.Until != video.Forever {
		trim += fmt.Sprintf(":end_pts=%d", p.Part.Until-p.Part.Origin-slack)
	}
	return []string{"setpts=PTS-STARTPTS", trim, "setpts=PTS-STARTPTS"}
}

// clockFilters make the times continuous where the clock of the source jumps.
func clockFilters(p *video.Plan) []string {
	if len(p.Jumps) == 0 {
		return nil
	}
	var shifts []string
	for _, j := range p.Jumps {
		shifts = append(shifts, fmt.Sprint(j))
	}
	return []string{fmt.Sprintf("setpts='%s'", continuousPTS(shifts, ffmpeg.ClockLeaps(p.Input.Container)))}
}

// dropRepeatedTimes drops frames whose time does not increase: some sources hold
// two frames for one time, which MP4 does not allow.
const dropRepeatedTimes = "select='isnan(prev_selected_pts)+gt(pts,prev_selected_pts)'"

// continuousPTS is the expression for setpts and asetpts that moves what follows
// each jump of the clock. It counts the jumps as they pass; shifts are
// expressions in units of the filter's time base.
func continuousPTS(shifts []string, leaps bool) string {
	var e strings.Builder
	// PREV_INT is when the previous frame began, not when it ended, so that a jump is not
	// quite as deep here as in the file.
	fmt.Fprintf(&e, "PTS+0*st(0,ld(0)+lt(T,PREV_INT-%g)", plan.JumpBack-0.1)
	if leaps {
		fmt.Fprintf(&e, "+gt(T,PREV_INT+%g)", plan.JumpAhead)
	}
	e.WriteString(")")
	before := "0"
	for i, s := range shifts {
		fmt.Fprintf(&e, "+(%s-(%s))*gte(ld(0),%d)", s, before, i+1)
		before = s
	}
	return e.String()
}

// frameLimitFilter passes the first frame of every slot of the frame-rate limit.
func frameLimitFilter(limit int) string {
	return fmt.Sprintf("select='isnan(prev_selected_t)+gt(floor(t*%[1]d+%[2]g),floor(prev_selected_t*%[1]d+%[2]g))'", limit, video.SlotOffset)
}

// thinFilter passes the frames of a rendition of a lower rate: the first frame of every two seconds of the video, where all
// renditions have a keyframe, and from there on the first of each slot. plan.countKept counts the same frames.
func thinFilter(p *video.Plan, r video.Rendition) string {
	most := r.Profile.MaxFPS
	if most == 0 {
		return ""
	}
	at, before, begin := "t", "prev_selected_t", ""
	if !ffmpeg.HasTimestamps(p.Input) { // the first time may be any
		at, before, begin = "(t-ld(1))", "(prev_selected_t-ld(1))", "st(1,if(isnan(prev_selected_t),t,ld(1)));"
	}
	two := func(at string) string { return fmt.Sprintf("floor(%s/2+1e-5)", at) }
	slot := func(at string) string {
		return fmt.Sprintf("floor((%s-ld(0))*%d+%g)", at, most, plan.SlotOffset(p.Input, most))
	}
	return fmt.Sprintf("select='%sif(isnan(prev_selected_t)+gt(%s,%s),1+0*st(0,%s),gt(%s,%s))'",
		begin, two(at), two(before), at, slot(at), slot(before))
}
