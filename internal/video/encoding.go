package video

// Codec is how the pictures of the outputs are compressed.
type Codec string

const (
	H264 Codec = "h264" // plays everywhere; what the interface promises
	HEVC Codec = "hevc"
	AV1  Codec = "av1"
)

// Codecs lists every codec, the default first.
var Codecs = []Codec{H264, HEVC, AV1}

// Quality says how much processor time is spent on making files small. All of
// them aim at pictures that look the same.
type Quality string

const (
	Fast     Quality = "fast"
	Balanced Quality = "balanced"
	Small    Quality = "small"
)

// Qualities lists every quality, the cheapest first.
var Qualities = []Quality{Fast, Balanced, Small}
