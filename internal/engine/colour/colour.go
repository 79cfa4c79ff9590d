// Package colour decides how the numbers of a source stand for colours, and
// converts those that ordinary screens cannot show. Sources in BT.709 or BT.601
// keep their colours. HDR (PQ and HLG), wide gamuts and Dolby Vision without a
// compatible base layer are brought to BT.709 by one 3D LUT that ffmpeg applies:
// the table takes half the time of a chain of filters, and can express Dolby
// Vision's reshaping, for which ffmpeg has no filter.
//
// The package is pure: it reads a video.Input, and returns filters and a table.
package colour

import (
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Space says how the numbers of an output stand for colours, in ffmpeg's words.
type Space struct {
	Matrix, Primaries, Transfer string
}

var (
	bt709 = Space{"bt709", "bt709", "bt709"}
	BT601 = Space{"smpte170m", "smpte170m", "smpte170m"}
)

// OutputSpace chooses between the colours of HD and of SD television. The
// source's colours are kept if they are one of the two, whatever the output's size.
// Everything else is converted to HD's.
func OutputSpace(in video.Input) Space {
	switch {
	case Transform(in) != nil:
		return bt709
	case slices.Contains([]string{"smpte170m", "bt470bg", "fcc"}, in.Matrix):
		return BT601
	case in.Matrix == "" && !IsRGB(in.PixelFormat) && min(in.CodedWidth, in.CodedHeight) < 720 && max(in.CodedWidth, in.CodedHeight) < 1280:
		// Players assume SD for a small video without tags.
		return BT601
	}
	return bt709
}

// NeedsMatrix reports whether the numbers have to be recomputed: they stand for
// RGB, or for colours that are neither HD's nor SD's.
func NeedsMatrix(in video.Input) bool {
	return IsRGB(in.PixelFormat) || !slices.Contains([]string{"", "bt709", "smpte170m", "bt470bg", "fcc"}, in.Matrix)
}

// IsRGB reports whether a pixel format stores RGB.
func IsRGB(pixelFormat string) bool {
	for _, part := range []string{"rgb", "bgr", "gbr", "pal8"} {
		if strings.Contains(pixelFormat, part) {
			return true
		}
	}
	return false
}

// IsHDR reports whether a source is brighter than ordinary screens.
func IsHDR(in video.Input) bool {
	return in.Dolby != nil || in.Transfer == "smpte2084" || in.Transfer == "arib-std-b67"
}

// Range returns the range of a source that other screens than ordinary ones show as it is: PQ or HLG in the colours of
// BT.2020, which missing tags are taken for. Everything else is SDR, or has to be made so.
func Range(in video.Input) video.DynamicRange {
	usual := slices.Contains([]string{"", "bt2020"}, in.Primaries) && slices.Contains([]string{"", "bt2020nc"}, in.Matrix)
	switch {
	case in.Dolby != nil || IsRGB(in.PixelFormat) || !usual:
		return video.SDR
	case in.Transfer == "smpte2084":
		return video.PQ
	case in.Transfer == "arib-std-b67":
		return video.HLG
	}
	return video.SDR
}

// KeptSpace says how the numbers of an output stand for colours that keeps a range other than SDR.
func KeptSpace(r video.DynamicRange) Space {
	transfer := "smpte2084"
	if r == video.HLG {
		transfer = "arib-std-b67"
	}
	return Space{"bt2020nc", "bt2020", transfer}
}

// wideGamut reports whether a source declares primaries that are more saturated
// than ordinary screens can show.
func wideGamut(in video.Input) bool {
	return slices.Contains([]string{"bt2020", "smpte431", "smpte432"}, in.Primaries)
}

// Filters returns the filters that convert a source for ordinary screens where a
// matrix is not enough: HDR, wide gamuts, Dolby Vision. They end in 16-bit RGB, the format in which
// lut3d is fastest. Missing tags are taken to be BT.2020, as in all HDR.
func Filters(in video.Input) []string {
	table := "lut3d=file=" + lutFile + ":interp=tetrahedral"
	if in.Dolby != nil {
		// Its components are not YUV: they go into the table unchanged.
		return []string{"zscale=rin=full:r=full", "format=yuv444p16le", "mergeplanes=0x000102:gbrp16le", table}
	}
	if IsRGB(in.PixelFormat) {
		return []string{"format=gbrp16le", table}
	}
	matrix, scale := "bt2020nc", "limited"
	if slices.Contains([]string{"bt709", "bt470bg", "smpte170m", "fcc", "ycgco"}, in.Matrix) {
		matrix = in.Matrix
	}
	if in.FullRange {
		scale = "full"
	}
	return []string{"zscale=min=" + matrix + ":rin=" + scale + ":r=full", "format=gbrp16le", table}
}
