package video

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Plan is what inspecting a file decided: everything the encode, audio,
// thumbnail and assemble tasks need to know. It is stored as JSON with the
// video, so fields may be added but never change their meaning.
type Plan struct {
	Input   Input    `json:"input"`
	Streams []Stream `json:"streams,omitempty"` // all that the file has, used or not

	// Timescale is the number of ticks a second of every output video track.
	Timescale int `json:"timescale"`
	// FirstPTS is the time of the source's first frame in Input.TimeBase; it
	// becomes time zero of the outputs, for audio as for video.
	FirstPTS int64         `json:"firstPts"`
	Part     *Part         `json:"part,omitempty"` // nil: the whole file is made
	Duration time.Duration `json:"duration"`
	Frames   int           `json:"frames"` // as the container announces them

	Deinterlace bool `json:"deinterlace,omitempty"`
	ToneMap     bool `json:"toneMap,omitempty"`
	// Kept is the range of the source where codecs beside H.264 keep it; "": they are SDR, too.
	Kept      DynamicRange `json:"kept,omitempty"`
	LimitRate int          `json:"limitRate,omitempty"` // the highest frame rate of the outputs; 0 means no limit

	// Jumps says by how much the times after each jump of the source's clock are
	// moved, in Input.TimeBase, to make them continuous. It is nearly always
	// empty; a video that has any is one chunk.
	Jumps []int64 `json:"jumps,omitempty"`

	// Codec is what the renditions are encoded in: "" is H.264. Plans that are stored
	// have none; see Beside.
	Codec Codec `json:"-"`
	// Quality is the setting at the time the file was inspected: the chunk files of a
	// rendition must match, whatever the setting is now. None means Balanced.
	Quality Quality `json:"quality,omitempty"`
	// Profile is the name of the profile that was chosen, and Preset its preset of x264: "" is what Quality says.
	Profile string `json:"profile,omitempty"`
	Preset  string `json:"preset,omitempty"`

	Renditions []Rendition `json:"renditions"` // of each pass, largest first; each one is encoded once
	// First is the index of the first rendition of the current pass. Those
	// before it were made in earlier passes; see After.
	First  int     `json:"first,omitempty"`
	Chunks []Chunk `json:"chunks"`          // in order of time; never empty
	Audio  *Audio  `json:"audio,omitempty"` // the track that players begin with
	// Others are the other sound tracks of the file.
	Others []Audio `json:"otherAudio,omitempty"`
	// LoudnessTarget is how loud every sound track is made, in LUFS; 0: as loud as in its file.
	LoudnessTarget float64     `json:"loudnessTarget,omitempty"`
	Thumbnails     []Thumbnail `json:"thumbnails,omitempty"` // in the order of the request
	Poster         *Poster     `json:"poster,omitempty"`
	Early          *Early      `json:"early,omitempty"` // nil: the video can be played when it is ready
	// Watermark is laid over every frame that is made of the source.
	Watermark *Watermark `json:"watermark,omitempty"`
	// Pictures asks for a storyboard and a preview, which are made of a finished rendition.
	Pictures bool      `json:"pictures,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"` // what inspecting the file found; see Verdict
	// Chapters are what the file brings. They become the video's unless a client has set or removed its chapters.
	Chapters []Chapter `json:"chapters,omitempty"`
	// Copy is what became of the wish to copy the picture of the source; nil: it was not wished.
	Copy *Copy `json:"copy,omitempty"`
	// LongestSegment is how long the longest segment of the streams will be, if keyframes are where the source has them.
	LongestSegment time.Duration `json:"longestSegment,omitempty"`

	// Head are the bytes of the source that are needed to open it. With them, a
	// task can fetch its own spans instead of the whole file. It is empty if
	// every task needs the whole file.
	Head []Span `json:"head,omitempty"`

	// Samples are short parts at which the finished rendition files are compared
	// with the source. They begin where decoding the source can begin.
	Samples []Chunk `json:"samples,omitempty"`
}

// Input describes the file and the streams chosen from it.
type Input struct {
	Container   string      `json:"container"`   // ffmpeg's name of the demuxer
	VideoStream int         `json:"videoStream"` // index within the file
	Codec       string      `json:"codec"`
	PixelFormat string      `json:"pixelFormat"`
	Width       int         `json:"width"`  // as displayed: rotated, square pixels
	Height      int         `json:"height"` // as displayed
	CodedWidth  int         `json:"codedWidth"`
	CodedHeight int         `json:"codedHeight"`
	Rotation    int         `json:"rotation,omitempty"` // degrees clockwise to show it upright: 0, 90, 180, 270
	TimeBase    Ratio       `json:"timeBase"`
	FrameRate   float64     `json:"frameRate"` // average
	Matrix      string      `json:"matrix,omitempty"`
	Transfer    string      `json:"transfer,omitempty"`
	Primaries   string      `json:"primaries,omitempty"`
	FullRange   bool        `json:"fullRange,omitempty"`
	Bitrate     int64       `json:"bitrate,omitempty"`    // of the video stream, bits per second
	Dolby       *Dolby      `json:"dolby,omitempty"`      // of Dolby Vision without a compatible base layer
	Mastering   *Mastering  `json:"mastering,omitempty"`  // of HDR, where its first frame tells
	Light       *LightLevel `json:"light,omitempty"`      // likewise
	X264        int         `json:"x264,omitempty"`       // version of the encoder, where decoding from the middle needs it
	RawClock    bool        `json:"rawClock,omitempty"`   // the clock was reset to before its beginning, and did not overflow
	EditStarts  bool        `json:"editStarts,omitempty"` // the lengths of the edit list make no sense, and are ignored
	Still       Still       `json:"still,omitempty"`      // what is shown of a file without a picture
}

// Stream is one stream of the file, as the file describes it.
type Stream struct {
	Index        int      `json:"index"`                  // within the file
	Type         string   `json:"type,omitempty"`         // ffmpeg's word: video, audio, subtitle, data or attachment
	Codec        string   `json:"codec"`                  // ffmpeg's name
	Language     string   `json:"language,omitempty"`     // the file's own word, mostly three letters
	Title        string   `json:"title,omitempty"`        // one line
	Dispositions []string `json:"dispositions,omitempty"` // what it is for, in ffmpeg's words, such as default and forced
}

// Ratio is a fraction, such as a time base of 1/90000.
type Ratio struct {
	Num int `json:"num"`
	Den int `json:"den"`
}

// Rendition is one encode. Names that would come out equal share it.
type Rendition struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Names  []Name `json:"names"`
	// MaxResolution or MaxUpscale is the operator's limit that made the encode
	// smaller than one of its names asks for. At most one of them is set.
	MaxResolution Name    `json:"maxResolution,omitempty"`
	MaxUpscale    float64 `json:"maxUpscale,omitempty"`
	// CRF is the quality setting of its encoder, by codec. It is decided once, before
	// anything is encoded, so that all chunks look alike wherever they are made.
	// Hardware has none.
	CRF map[Codec]float64 `json:"crf,omitempty"`
	// Profile is what the chosen profile says of it. Its frame rate is 0 where the source has no more.
	Profile ProfileSize `json:"profile,omitzero"`
	// MaxBitrate is how many bits a second its picture may have on average, by codec, where the source has so few
	// that more would show nothing more. A codec that is not in it has no such limit.
	MaxBitrate map[Codec]int64 `json:"maxBitrate,omitempty"`
	// Again are the codecs in which it was too large, so that it was made a second time with a higher CRF.
	Again  []Codec `json:"again,omitempty"`
	Making Making  `json:"making,omitempty"`
}

// Chunk is a part of the video that one task encodes. Times are integers in the
// source's own time base: seconds as floating point would lose frames.
type Chunk struct {
	Start int64 `json:"start"` // the first frame that belongs to it
	End   int64 `json:"end"`   // the first frame that does not; Forever for the last chunk
	Seek  int64 `json:"seek"`  // the keyframe to seek to, at or before Start; NoSeek reads from the beginning
	// Bytes is how many bytes of the source's picture it has; 0 means unknown.
	Bytes int64 `json:"bytes,omitempty"`
	// Frames is how many frames the file announces for it; 0 means unknown.
	Frames int `json:"frames,omitempty"`
	// FramesAt is how many of them are kept at each frame rate of ProfileSize.MaxFPS.
	FramesAt map[int]int `json:"framesAt,omitempty"`
	// Spans are the bytes of the source that are needed to decode it, beside
	// Plan.Head; none means the whole file.
	Spans []Span `json:"spans,omitempty"`
	// Keys are the frames that are keyframes of all renditions; none: the first frame of every two seconds.
	Keys []int64 `json:"keys,omitempty"`
	// GOP is how many frames there are from each of Keys to the next one; 0: not always as many.
	GOP int `json:"gop,omitempty"`
}

// Span is a part of the source file: the bytes From up to, but not including,
// To.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

const (
	// Forever as Chunk.End: to the end of the video.
	Forever int64 = math.MaxInt64
	// NoSeek as Chunk.Seek or Thumbnail.Seek: decode from the beginning.
	NoSeek int64 = math.MinInt64
)

// Audio is a sound track of the file.
type Audio struct {
	Stream   int    `json:"stream"` // index within the file
	Codec    string `json:"codec"`
	Channels int    `json:"channels"`
	Bitrate  int    `json:"bitrate"` // of the output, bits per second
	// Early is how much of the audio comes before the first frame, and is left
	// out. Less than half a second is not reported.
	Early time.Duration `json:"early,omitempty"`
	// Silences are long gaps without audio on the timeline of the video, in
	// order. They are filled explicitly, because ffmpeg would do it in memory.
	Silences []Silence `json:"silences,omitempty"`
	// Jumps is Plan.Jumps for an audio track whose clock jumps with the video's
	// clock.
	Jumps []time.Duration `json:"jumps,omitempty"`
	// Seek is the keyframe of the video from which the audio of a part is read; nil: from the beginning.
	Seek *int64 `json:"seek,omitempty"`
	// Packet is how long a packet of the source plays, on average; 0 means unknown.
	Packet time.Duration `json:"packet,omitempty"`
	// Lost is how much of the audio could not be decoded, as far as it was encoded.
	Lost time.Duration `json:"lost,omitempty"`
	// Language, Label and Kind are what people know the track by; see AudioTrack.
	Language string    `json:"language,omitempty"`
	Label    string    `json:"label,omitempty"`
	Kind     TrackKind `json:"kind,omitempty"`
	Failure  *Failure  `json:"failure,omitempty"` // why it cannot be made
	// Gain and Limit are as in AudioTrack.Loudness. Plans that are stored have none; see Levelled.
	Gain  float64  `json:"-"`
	Limit *float64 `json:"-"`
}

// SeekTo returns Seek, or NoSeek if the audio is read from the beginning.
func (a *Audio) SeekTo() int64 {
	if a.Seek == nil {
		return NoSeek
	}
	return *a.Seek
}

// Silence is a gap without audio.
type Silence struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// Thumbnail is one JPEG of a frame.
type Thumbnail struct {
	Seconds float64 `json:"seconds"` // as requested
	PTS     int64   `json:"pts"`     // the frame shown then, in Input.TimeBase
	Seek    int64   `json:"seek"`
	Spans   []Span  `json:"spans,omitempty"` // as in a Chunk
}

// Poster lists the frames that the poster of the video is chosen from.
type Poster struct {
	Width  int           `json:"width"`
	Height int           `json:"height"`
	Frames []PosterFrame `json:"frames"` // the most promising ones first; never empty
}

// PosterFrame is a frame that may become the poster.
type PosterFrame struct {
	PTS   int64  `json:"pts"`  // in Input.TimeBase
	Next  int64  `json:"next"` // a frame shortly after it; in a fade, it looks different
	Seek  int64  `json:"seek"`
	Spans []Span `json:"spans,omitempty"` // as in a Chunk
}

// SlotOffset is how much earlier than its frame a slot of Plan.LimitRate begins, as
// a part of the slot.
const SlotOffset = 0.11

// Part says what a plan that makes only a part of its source knows of the rest. Everything else in the plan is about
// the part.
type Part struct {
	Origin int64 `json:"origin"` // the time of the source's first frame, in Input.TimeBase
	Until  int64 `json:"until"`  // the time of the first frame behind the part; Forever: it ends with the file
	// Length is from the first frame of the part to where the part ends; 0: it ends with the file.
	Length time.Duration `json:"length,omitempty"`
}

// Origin returns the time of the source's first frame, which is FirstPTS unless a part is made.
func (p *Plan) Origin() int64 {
	if p.Part != nil {
		return p.Part.Origin
	}
	return p.FirstPTS
}

// Seconds converts a time in the source's time base to seconds.
func (r Ratio) Seconds(ticks int64) float64 {
	return float64(ticks) * float64(r.Num) / float64(r.Den)
}

// Ticks converts seconds to a time in the source's time base, which the caller
// rounds as needed.
func (r Ratio) Ticks(seconds float64) float64 {
	return seconds * float64(r.Den) / float64(r.Num)
}

// RenditionOf returns the index of the rendition that serves name, or -1.
func (p *Plan) RenditionOf(name Name) int {
	return slices.IndexFunc(p.Renditions, func(r Rendition) bool { return slices.Contains(r.Names, name) })
}

// CRF returns the CRF with which a resolution is made in a codec, or 0 if it is not
// known.
func (p *Plan) CRF(name Name, c Codec) float64 {
	if p == nil {
		return 0
	}
	n := p.RenditionOf(name)
	if n < 0 {
		return 0
	}
	return p.Renditions[n].CRF[c]
}

// MaxBitrate returns how many bits a second the picture of a resolution may have on average in a codec, because its source
// has so few, or 0.
func (p *Plan) MaxBitrate(name Name, c Codec) int64 {
	if p == nil {
		return 0
	}
	n := p.RenditionOf(name)
	if n < 0 {
		return 0
	}
	return p.Renditions[n].MaxBitrate[c]
}

// OutputCodec returns what the renditions are encoded in.
func (p *Plan) OutputCodec() Codec { return cmp.Or(p.Codec, H264) }

// After returns p as the next pass over a video: with the renditions that were
// made before, so that an index never changes its meaning.
func (p *Plan) After(earlier *Plan) *Plan {
	if earlier == nil {
		return p
	}
	next := *p
	next.First, next.Early = len(earlier.Renditions), nil
	next.Renditions = slices.Concat(earlier.Renditions, p.Renditions)
	next.LoudnessTarget = earlier.LoudnessTarget // all sound tracks are as loud as the first
	return &next
}

// HighestRate returns the highest frame rate that profiles allow any of some renditions; 0: as high as the plan's.
func HighestRate(renditions []Rendition) (most int) {
	for _, r := range renditions {
		if r.Profile.MaxFPS == 0 {
			return 0
		}
		most = max(most, r.Profile.MaxFPS)
	}
	return most
}

// FrameTime returns how long a frame lasts of a rendition whose frame rate a profile lowers; 0 for others.
func (p *Plan) FrameTime(rendition int) time.Duration {
	most := p.Renditions[rendition].Profile.MaxFPS
	if most == 0 {
		return 0
	}
	return time.Second / time.Duration(most)
}

// FramesOf returns how many frames a rendition should have in the chunk; 0 means unknown.
func (c *Chunk) FramesOf(r Rendition) int {
	if r.Profile.MaxFPS == 0 {
		return c.Frames
	}
	return c.FramesAt[r.Profile.MaxFPS]
}

// Decoded returns how many frames of the chunk were decoded, if so many are kept at a frame rate.
func (c *Chunk) Decoded(kept, rate int) int {
	if of := c.FramesAt[rate]; of > 0 {
		return kept * c.Frames / of
	}
	return kept
}

// Pass returns the plan as if the current pass were the only one.
func (p *Plan) Pass() *Plan {
	pass := *p
	pass.Renditions, pass.First = p.Renditions[p.First:], 0
	return &pass
}

// Without returns the plan with no rendition serving name.
func (p *Plan) Without(name Name) *Plan {
	other := *p
	other.Renditions = slices.Clone(p.Renditions)
	for i, r := range other.Renditions {
		other.Renditions[i].Names = slices.DeleteFunc(slices.Clone(r.Names), func(n Name) bool { return n == name })
	}
	return &other
}

// MayHaveText reports whether there may be text to take from a source.
func (p *Plan) MayHaveText() bool { return len(p.TextTracks()) > 0 || p.MayHaveClosedCaptions() }

// Length returns how long chunk i plays.
func (p *Plan) Length(i int) time.Duration {
	tb, c := p.Input.TimeBase, p.Chunks[i]
	from := time.Duration(tb.Seconds(c.Start-p.FirstPTS) * float64(time.Second))
	if c.End == Forever {
		return p.Duration - from
	}
	return time.Duration(tb.Seconds(c.End-p.FirstPTS)*float64(time.Second)) - from
}
