package encode

import (
	"fmt"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/video"
)

// WatermarkFile is the picture of a plan's watermark, a PNG, in the folder of a job's outputs: that is ffmpeg's working
// directory.
const WatermarkFile = "watermark.png"

// longAgo is the time of the watermark, before the first frame of any source: frames that are shown earlier would
// have none.
const longAgo = "-1e8/TB"

// watermarkFilters read the watermark and bring it to its size in the largest rendition and to the colours of the
// output. It is laid over the largest rendition alone, from which the others are scaled, so it costs little and is
// equally large in all of them.
func watermarkFilters(p *video.Plan, to target) string {
	_, _, width, height := p.Watermark.Place(p.Renditions[0].Width, p.Renditions[0].Height)
	matrix, scale, pixels, light := colour.OutputSpace(p.Input).Matrix, "tv", "yuva420p", ""
	switch {
	case to == toJPEG:
		matrix, scale = colour.BT601.Matrix, "pc"
	case p.OutputRange() != video.SDR:
		matrix, pixels, light = "bt2020", "yuva420p10le", ","+paperWhite(p.OutputRange())
	}
	// Without premultiplying, the colours of transparent pixels would show at the edges.
	return fmt.Sprintf("movie=filename=%s:format_name=png_pipe,setpts=%s,format=rgba,colorchannelmixer=aa=%.4f,"+
		"premultiply=inplace=1,scale=%d:%d:flags=bicubic,unpremultiply=inplace=1%s,scale=flags=bicubic:out_range=%s:out_color_matrix=%s,format=%s",
		WatermarkFile, longAgo, p.Watermark.Opacity, width, height, light, scale, matrix, pixels)
}

// paperWhite brings a picture for ordinary screens to a range where full numbers are far brighter: its white gets the
// 203 cd/m² of paper in HDR (ITU-R BT.2408).
func paperWhite(r video.DynamicRange) string {
	light := "val*0.75"
	if r == video.PQ {
		const power = "pow(0.0203*pow(val/255,2.4),0.1593017578125)"
		light = "255*pow((0.8359375+18.8515625*" + power + ")/(1+18.6875*" + power + "),78.84375)"
	}
	return fmt.Sprintf("lutrgb=r='%[1]s':g='%[1]s':b='%[1]s'", light)
}

// overlayFilter lays the watermark over the frames of the largest rendition.
func overlayFilter(p *video.Plan, to target) string {
	format := "yuv420"
	if to == toVideo && p.OutputRange() != video.SDR {
		format = "yuv420p10"
	}
	x, y, _, _ := p.Watermark.Place(p.Renditions[0].Width, p.Renditions[0].Height)
	return fmt.Sprintf("overlay=x=%d:y=%d:format=%s", x, y, format)
}
