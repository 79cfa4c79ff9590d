package video

// Codec is how the video of the outputs is compressed.
type Codec string

const (
	H264 Codec = "h264" // plays everywhere; what the API promises
	HEVC Codec = "hevc"
	AV1  Codec = "av1"
)

// Quality says how much processor time is spent on making H.264 files small. All of
// them aim at the same visual quality.
type Quality string

const (
	Fast     Quality = "fast"
	Balanced Quality = "balanced"
	Small    Quality = "small"
)

// Qualities lists every quality, the cheapest first.
var Qualities = []Quality{Fast, Balanced, Small}
