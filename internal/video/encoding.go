package video

// Codec is how the video of the outputs is compressed.
type Codec string

const (
	H264 Codec = "h264" // plays everywhere; what the API promises
	HEVC Codec = "hevc"
	AV1  Codec = "av1"
)

// Codecs lists every codec, the default first.
var Codecs = []Codec{H264, HEVC, AV1}

// Quality says how much processor time is spent on making files small. All of
// them aim at the same visual quality.
type Quality string

const (
	Fast     Quality = "fast"
	Balanced Quality = "balanced"
	Small    Quality = "small"
)

// Second is the quality of what is made in another codec beside H.264: it costs
// about as much, and aims at the same visual quality. Nobody can choose it.
const Second Quality = "second"

// Qualities lists every quality, the cheapest first.
var Qualities = []Quality{Fast, Balanced, Small}
