package media

import (
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// colour says how the numbers of an output stand for colours, in ffmpeg's words.
type colour struct {
	matrix, primaries, transfer string
}

var (
	bt709 = colour{"bt709", "bt709", "bt709"}
	bt601 = colour{"smpte170m", "smpte170m", "smpte170m"}
)

// outputColour chooses between the colours of HD and of SD television. Those of
// the source are kept where it is one of the two, whatever the output's size.
// Everything else is converted to HD's.
func outputColour(p *video.Plan) colour {
	in := p.Input
	switch {
	case p.ToneMap:
		return bt709
	case slices.Contains([]string{"smpte170m", "bt470bg", "fcc"}, in.Matrix):
		return bt601
	case in.Matrix == "" && !isRGB(in.PixelFormat) && min(in.CodedWidth, in.CodedHeight) < 720 && max(in.CodedWidth, in.CodedHeight) < 1280:
		// Players take what is small and says nothing for SD.
		return bt601
	}
	return bt709
}

// needsMatrix reports whether the numbers have to be computed anew: they stand
// for RGB, or for colours that are neither HD's nor SD's.
func needsMatrix(in video.Input) bool {
	return isRGB(in.PixelFormat) || !slices.Contains([]string{"", "bt709", "smpte170m", "bt470bg", "fcc"}, in.Matrix)
}

func isRGB(pixelFormat string) bool {
	for _, part := range []string{"rgb", "bgr", "gbr", "pal8"} {
		if strings.Contains(pixelFormat, part) {
			return true
		}
	}
	return false
}

// toneMap brings HDR (PQ, HLG) to the range of ordinary screens. It computes in
// linear light with floating point, which is slow: scale down first. What the
// file leaves unsaid is taken to be BT.2020, as all HDR is.
func toneMap(in video.Input) string {
	matrix, primaries, scale := in.Matrix, in.Primaries, "tv"
	if matrix == "" || isRGB(in.PixelFormat) {
		matrix = "bt2020nc"
	}
	if primaries == "" {
		primaries = "bt2020"
	}
	if in.FullRange {
		scale = "pc"
	}
	return "zscale=tin=" + in.Transfer + ":min=" + matrix + ":pin=" + primaries + ":rin=" + scale +
		":t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=hable:desat=0," +
		"zscale=t=bt709:m=bt709:r=tv"
}
