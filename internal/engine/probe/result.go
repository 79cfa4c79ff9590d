package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Limits on what is read. They are far above any honest video, and hostile
// files reach them soon.
const (
	maxFrames = 4_000_000    // 12 hours at 92 frames a second
	maxValue  = 4 << 20      // bytes that describe one packet or stream; a title can be as long as the file
	maxListed = 1000         // ffmpeg itself opens no more than 200
	maxAbout  = 4 * maxValue // bytes that describe all streams
	maxDepth  = 100          // of lists in lists; the decoder keeps all of them in memory

	// A file may have so many packets, and one more for each so many bytes. Only pictures without any motion and
	// silence have smaller ones, which is allowed for more than an hour. An index can list millions of packets that
	// take no space, and reading them takes minutes.
	freePackets         = 250_000
	bytesPerPacket      = 64
	bytesPerSoundPacket = 12
)

// dispositions are what a file may say of the purpose of a stream, as far as it
// is noted.
var dispositions = []string{
	"default", "dub", "original", "comment", "lyrics", "forced", "hearing_impaired", "visual_impaired", "attached_pic", "captions", "descriptions",
}

// entries are what ffprobe is asked for: what the types below have room for.
var entries = []string{
	"packet=codec_type,stream_index,pts,dts,duration,size,pos,flags", "packet_side_data=side_data_type",
	"stream=index,codec_type,codec_name,profile,level,codec_tag_string,width,height,pix_fmt,sample_aspect_ratio,field_order," +
		"color_range,color_space,color_transfer,color_primaries,avg_frame_rate,time_base,start_pts,bit_rate,channels,nb_frames",
	"stream_disposition=" + strings.Join(dispositions, ","),
	"stream_tags=language,title",
	"stream_side_data=side_data_type,rotation,dv_profile,dv_bl_signal_compatibility_id",
	"chapter=start_time", "chapter_tags=title",
	"format=format_name,start_time,duration",
}

// mostPackets returns how many packets a file of a size may list. Files with sound alone have small ones: 12 hours of
// speech are two million packets of 20 bytes.
func mostPackets(size int64, sound bool) int {
	per := int64(bytesPerPacket)
	if sound {
		per = bytesPerSoundPacket
	}
	return freePackets + int(size/per)
}

// Result is what ffprobe told about a file.
type Result struct {
	Format     Format
	Streams    []Stream
	Chapters   []Chapter         // the first ones
	Timelines  map[int]*Timeline // by index of the stream
	frames     int               // of all video streams
	packets    int               // of all streams
	maxPackets int               // 0: no limit
	noted      noted
	refused    []string // decoders that are not allowed, although the file asks for them
	Dolby      *video.Dolby
	Mastering  *video.Mastering  // of HDR, if its first frame tells
	Light      *video.LightLevel // likewise
	RawClock   bool              // times are as in the file: see video.Input
	EditStarts bool              // the lengths of the edit list were ignored: see video.Input
	X264       int               // version of x264 that made the video, where decoding depends on it; see readX264
	Still      video.Still       // what Show has added
	still      Stream

	grain   int64        // resolution of the packets' positions
	opening []video.Span // where the first packets of all streams are, in the order of reading
	Index   *Index       // nil if it was not read, or makes no sense

	lastPacket int64 // the highest position of a packet
	CutOff     bool  // the file ends in the middle of a part whose length it announces
}

// NewResult returns an empty result, for Read.
func NewResult() *Result {
	return &Result{Timelines: map[int]*Timeline{}}
}

// Format is what ffprobe says of the container.
type Format struct {
	Name     string  `json:"format_name"`
	Start    float64 `json:"start_time,string"`
	Duration float64 `json:"duration,string"`
}

// Stream is what ffprobe says of a stream.
type Stream struct {
	Index         int        `json:"index"`
	Type          string     `json:"codec_type"`
	Codec         string     `json:"codec_name"`
	Profile       string     `json:"profile"`
	Level         int        `json:"level"`
	Tag           string     `json:"codec_tag_string"`
	Width         int        `json:"width"`
	Height        int        `json:"height"`
	PixelFormat   string     `json:"pix_fmt"`
	SampleAspect  string     `json:"sample_aspect_ratio"`
	FieldOrder    string     `json:"field_order"`
	ColorRange    string     `json:"color_range"`
	ColorSpace    string     `json:"color_space"`
	ColorTransfer string     `json:"color_transfer"`
	ColorPrimary  string     `json:"color_primaries"`
	AverageRate   string     `json:"avg_frame_rate"`
	TimeBase      string     `json:"time_base"`
	Start         *int64     `json:"start_pts"` // when it begins to be shown or heard, as far as that is known
	Bitrate       int64      `json:"bit_rate,string"`
	Channels      int        `json:"channels"`
	Frames        int        `json:"nb_frames,string"` // as the container announces them
	SideData      []SideData `json:"side_data_list"`

	Disposition map[string]int `json:"disposition"` // 1 for those that apply
	Tags        struct {
		Language string `json:"language"`
		Title    string `json:"title"`
	} `json:"tags"`
}

// SideData is data that a stream or packet carries beside its own.
type SideData struct {
	Type     string  `json:"side_data_type"`
	Rotation float64 `json:"rotation"`

	// For Dolby Vision.
	Profile       int  `json:"dv_profile"`
	Compatibility *int `json:"dv_bl_signal_compatibility_id"` // which ordinary base layer it has; 0 means none
}

// Packet is what ffprobe says of a packet. Times are in the stream's time base.
type Packet struct {
	Type     string     `json:"codec_type"`
	Stream   int        `json:"stream_index"`
	PTS      int64      `json:"pts"`
	DTS      int64      `json:"dts"`
	Duration int64      `json:"duration"`
	Size     int64      `json:"size,string"`
	Position int64      `json:"pos,string"` // in the file
	Flags    string     `json:"flags"`
	SideData []SideData `json:"side_data_list"`
}

// unknown stands for a time that ffprobe leaves out.
const unknown int64 = math.MinInt64

// Read parses ffprobe's JSON while it arrives: the packets of a long video are
// gigabytes of text. They come before the streams, so their times are collected
// for every stream.
func (f *Result) Read(r io.Reader) error {
	limit := &valueReader{reader: r}
	d := json.NewDecoder(limit)
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "packets":
			err = forEachElement(d, func() error {
				limit.read = 0
				return f.readPacket(d)
			})
		case "streams":
			begin := d.InputOffset()
			err = forEachElement(d, func() error {
				limit.read = 0
				return f.readStream(d, begin+maxAbout)
			})
		case "chapters":
			err = forEachElement(d, func() error {
				limit.read = 0
				return f.readChapter(d)
			})
		case "format":
			err = d.Decode(&f.Format)
		default:
			err = skipValue(d, limit)
		}
		if err != nil {
			return fmt.Errorf("read ffprobe's %v: %w", key, err)
		}
	}
	return expect(d, json.Delim('}'))
}

func (f *Result) readPacket(d *json.Decoder) error {
	p := Packet{Stream: -1, PTS: unknown, DTS: unknown, Position: -1}
	if err := d.Decode(&p); err != nil {
		return err
	}
	if p.Stream < 0 {
		return nil // ffprobe lists the programs of a transport stream among the packets
	}
	if len(f.opening) < maxOpening {
		f.opening = append(f.opening, video.Span{From: p.Position, To: p.Position + p.Size})
	}
	if f.packets++; f.packets > f.maxPackets && f.maxPackets > 0 {
		return video.Failf(video.TooLong, "The file has more than %d packets, which is more than can be processed of a file of its size.", f.maxPackets)
	}
	f.lastPacket = max(f.lastPacket, p.Position)
	line := f.Timelines[p.Stream]
	if line == nil && len(f.Timelines) == maxListed {
		return tooManyStreams()
	}
	if line == nil {
		line = newTimeline(f.grain, &f.noted)
		f.Timelines[p.Stream] = line
	}
	if p.Type == "video" {
		if f.frames++; f.frames > maxFrames {
			return video.Failf(video.TooLong, "The file has more than %d million frames, which is more than can be processed.", maxFrames/1_000_000)
		}
	}
	line.Add(p)
	return nil
}

// readStream reads the description of a stream that ends before byte end of the
// text.
func (f *Result) readStream(d *json.Decoder, end int64) error {
	var s Stream
	if err := d.Decode(&s); err != nil {
		return err
	}
	if len(f.Streams) == maxListed || d.InputOffset() > end {
		return tooManyStreams()
	}
	f.Streams = append(f.Streams, s)
	return nil
}

func tooManyStreams() *video.Failure {
	return video.Failf(video.Corrupt, "The file is damaged: it has more than %d streams, or their descriptions never end.", maxListed)
}

// valueReader limits how much is read for one JSON value, which the decoder
// holds in memory.
type valueReader struct {
	reader io.Reader
	read   int // since the value began
}

func (v *valueReader) Read(p []byte) (int, error) {
	const piece = 64 << 10 // a large buffer must not be filled for a small value
	if v.read > maxValue {
		return 0, video.Failf(video.Corrupt, "The file is damaged: the description of one of its streams is longer than %d MiB.", maxValue>>20)
	}
	n, err := v.reader.Read(p[:min(len(p), piece)])
	v.read += n
	return n, err
}

// skipValue reads over the next value and keeps nothing of it: the list of programs
// of a small transport stream can be hundreds of megabytes.
func skipValue(d *json.Decoder, limit *valueReader) error {
	depth := 0
	for {
		limit.read = 0
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return video.Failf(video.Corrupt, "The file is damaged: its description has lists in lists without end.")
		}
		if depth == 0 {
			return nil
		}
	}
}

// forEachElement calls read for every element of the next array.
func forEachElement(d *json.Decoder, read func() error) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}
	for d.More() {
		if err := read(); err != nil {
			return err
		}
	}
	return expect(d, json.Delim(']'))
}

func expect(d *json.Decoder, want json.Delim) error {
	switch got, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("unexpected %v in JSON, want %v", got, want)
	}
	return nil
}
