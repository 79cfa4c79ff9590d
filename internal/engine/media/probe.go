package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Limits on what is looked at. They are far above any honest film, and hostile
// files reach them soon.
const (
	maxPixels   = 36_864_000 // 8192 × 4500
	maxDuration = 12 * time.Hour
	maxFrames   = 4_000_000 // 12 hours at 92 frames a second
)

// Inspect probes the file and makes the plan. A file that can never be
// transcoded is a *video.Failure; other errors may pass.
func (t *Tools) Inspect(ctx context.Context, job Job, ask Ask) (*video.Plan, error) {
	found, err := t.probe(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	plan, err := makePlan(found, ask, t.cut)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	t.read.note(plan, found, found.timelines[plan.Input.VideoStream])
	plan.Codec, plan.Quality = t.encoder.codec, t.quality
	return plan, nil
}

// maxProbes is how often a file is looked at: each time but the last may bring up
// the name of a decoder that must not run.
const maxProbes = 4

// probe asks ffprobe, in one run, for the streams and for the time and kind of
// every packet. Nothing is decoded but what it takes to know the formats.
//
// A file in which one stream of several has a decoder that may not run takes a
// second run, in which that stream is left alone. See also probeAlone.
func (t *Tools) probe(ctx context.Context, job Job) (*findings, error) {
	size, err := sizeOf(job.Source)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, video.Failf(video.UploadEmpty, "The file is empty.")
	}
	// The whole file is read once; 16 MiB a second is a slow disk.
	limit := 30*time.Second + time.Duration(size>>24)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, maxProbes*limit, ErrTimeLimit)
	defer cancel()

	var refused []string
	for range maxProbes {
		found := newFindings()
		found.grain = t.read.grain
		found.refused = refused
		var stderr string
		stderr, err = t.run(ctx, process{
			bin: t.ffprobe, args: probeArgs(job.Source, refused), dir: job.OutDir, job: job, policy: mayProbe(job, limit),
			stdout: found.read,
		})
		if err == nil {
			return found, errors.Join(t.probeAlone(ctx, job, found, limit), t.probeDolby(ctx, job, found, limit), t.outline(ctx, job, found, size, limit))
		}
		err = explainProbe(err, stderr, job.Source)
		names := refusedDecoders(stderr)
		if len(names) == 0 {
			break
		}
		refused = slices.Compact(slices.Sorted(slices.Values(append(refused, names...))))
	}
	return nil, err
}

// sizeOf makes sure that the source is there and can be opened: without it,
// trouble of ours would look like trouble with the film.
func sizeOf(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// findings is what ffprobe told about a file.
type findings struct {
	format    format
	streams   []stream
	timelines map[int]*timeline // by index of the stream
	frames    int               // of all video streams
	refused   []string          // decoders that may not run, although the file asks for them
	dolby     *video.Dolby

	grain   int64        // how finely it is noted where packets lie
	early   []video.Span // where the first packets of all streams lie, as they are read
	outline *outline     // nil when nobody looked, or what was found makes no sense
}

func newFindings() *findings {
	return &findings{timelines: map[int]*timeline{}}
}

type format struct {
	Name     string  `json:"format_name"`
	Start    float64 `json:"start_time,string"`
	Duration float64 `json:"duration,string"`
}

type stream struct {
	Index         int        `json:"index"`
	Type          string     `json:"codec_type"`
	Codec         string     `json:"codec_name"`
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
	Bitrate       int64      `json:"bit_rate,string"`
	Channels      int        `json:"channels"`
	Frames        int        `json:"nb_frames,string"` // as the container announces them
	SideData      []sideData `json:"side_data_list"`
	Disposition   struct {
		Default     int `json:"default"`
		AttachedPic int `json:"attached_pic"`
	} `json:"disposition"`
}

type sideData struct {
	Type     string  `json:"side_data_type"`
	Rotation float64 `json:"rotation"`

	// Of Dolby Vision.
	Profile       int  `json:"dv_profile"`
	Compatibility *int `json:"dv_bl_signal_compatibility_id"` // which ordinary picture is underneath
}

type packet struct {
	Type     string     `json:"codec_type"`
	Stream   int        `json:"stream_index"`
	PTS      int64      `json:"pts"`
	DTS      int64      `json:"dts"`
	Duration int64      `json:"duration"`
	Size     int64      `json:"size,string"`
	Position int64      `json:"pos,string"` // in the file
	Flags    string     `json:"flags"`
	SideData []sideData `json:"side_data_list"`
}

// unknown stands for a time that ffprobe leaves out.
const unknown int64 = math.MinInt64

// read takes ffprobe's JSON apart while it arrives: the packets of a long film
// are gigabytes of text. They come first, so their facts are collected for
// every stream before it is known which stream is the film.
func (f *findings) read(r io.Reader) error {
	d := json.NewDecoder(r)
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
			err = each(d, func() error { return f.readPacket(d) })
		case "streams":
			err = d.Decode(&f.streams)
		case "format":
			err = d.Decode(&f.format)
		default:
			err = skip(d)
		}
		if err != nil {
			return fmt.Errorf("read ffprobe's %v: %w", key, err)
		}
	}
	return expect(d, json.Delim('}'))
}

func (f *findings) readPacket(d *json.Decoder) error {
	p := packet{Stream: -1, PTS: unknown, DTS: unknown, Position: -1}
	if err := d.Decode(&p); err != nil {
		return err
	}
	if p.Stream < 0 {
		return nil // ffprobe lists the programs of a transport stream among the packets
	}
	if len(f.early) < maxOpening {
		f.early = append(f.early, video.Span{From: p.Position, To: p.Position + p.Size})
	}
	line := f.timelines[p.Stream]
	if line == nil {
		line = newTimeline()
		line.layout.grain = f.grain
		f.timelines[p.Stream] = line
	}
	if p.Type == "video" {
		if f.frames++; f.frames > maxFrames {
			return video.Failf(video.TooLong, "The file has more than %d million frames, which is more than can be processed.", maxFrames/1_000_000)
		}
	}
	line.add(p)
	return nil
}

// skip reads over the value that comes next and keeps nothing of it: the list of
// programs of a small transport stream can be hundreds of megabytes.
func skip(d *json.Decoder) error {
	depth := 0
	for {
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
		if depth == 0 {
			return nil
		}
	}
}

// each calls read for every element of the array that comes next.
func each(d *json.Decoder, read func() error) error {
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
