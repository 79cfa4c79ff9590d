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
	matrix, scale := colour.OutputSpace(p.Input).Matrix, "tv"
	if to == toJPEG {
		matrix, scale = colour.BT601.Matrix, "pc"
	}
	// Without premultiplying, the colours of transparent pixels would show at the edges.
	return fmt.Sprintf("movie=filename=%s:format_name=png_pipe,setpts=%s,format=rgba,colorchannelmixer=aa=%.4f,"+
		"premultiply=inplace=1,scale=%d:%d:flags=bicubic,unpremultiply=inplace=1,scale=flags=bicubic:out_range=%s:out_color_matrix=%s,format=yuva420p",
		WatermarkFile, longAgo, p.Watermark.Opacity, width, height, scale, matrix)
}

// overlayFilter lays the watermark over the frames of the largest rendition.
func overlayFilter(p *video.Plan) string {
	x, y, _, _ := p.Watermark.Place(p.Renditions[0].Width, p.Renditions[0].Height)
	return fmt.Sprintf("overlay=x=%d:y=%d:format=yuv420", x, y)
}
