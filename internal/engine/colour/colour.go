package colour

import (
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// colour says how the numbers of an output stand for colours, in ffmpeg's words.
type Space struct {
	Matrix, Primaries, Transfer string
}

var (
	bt709 = Space{"bt709", "bt709", "bt709"}
	BT601 = Space{"smpte170m", "smpte170m", "smpte170m"}
)

// outputColour chooses between the colours of HD and of SD television. Those of
// the source are kept where it is one of the two, whatever the output's size.
// Everything else is converted to HD's.
func OutputSpace(in video.Input) Space {
	switch {
	case Transform(in) != nil:
		return bt709
	case slices.Contains([]string{"smpte170m", "bt470bg", "fcc"}, in.Matrix):
		return BT601
	case in.Matrix == "" && !IsRGB(in.PixelFormat) && min(in.CodedWidth, in.CodedHeight) < 720 && max(in.CodedWidth, in.CodedHeight) < 1280:
		// Players take what is small and says nothing for SD.
		return BT601
	}
	return bt709
}

// needsMatrix reports whether the numbers have to be computed anew: they stand
// for RGB, or for colours that are neither HD's nor SD's.
func NeedsMatrix(in video.Input) bool {
	return IsRGB(in.PixelFormat) || !slices.Contains([]string{"", "bt709", "smpte170m", "bt470bg", "fcc"}, in.Matrix)
}

func IsRGB(pixelFormat string) bool {
	for _, part := range []string{"rgb", "bgr", "gbr", "pal8"} {
		if strings.Contains(pixelFormat, part) {
			return true
		}
	}
	return false
}

// isHDR reports whether a film is brighter than ordinary screens.
func IsHDR(in video.Input) bool {
	return in.Dolby != nil || in.Transfer == "smpte2084" || in.Transfer == "arib-std-b67"
}

// wideGamut reports whether a film says that its primaries are more colourful
// than those of ordinary screens.
func wideGamut(in video.Input) bool {
	return slices.Contains([]string{"bt2020", "smpte431", "smpte432"}, in.Primaries)
}

// graded are the filters that bring a film to ordinary screens whose colours a
// matrix alone does not: HDR, wide gamuts, Dolby Vision. They end in RGB of 16
// bits, the format for which the table is quickest. What the file leaves unsaid
// is taken to be BT.2020, as all HDR is.
func Filters(in video.Input) []string {
	table := "lut3d=file=" + lutFile + ":interp=tetrahedral"
	if in.Dolby != nil {
		// Its components are no YUV: they go into the table as they are.
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
