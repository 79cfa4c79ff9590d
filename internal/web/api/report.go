package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// reportRoutes are the operations on reports.
type reportRoutes struct {
	catalog *catalog.Catalog
	made    *cache.Cache[reportVersion, []byte] // in JSON
}

// reportVersion names a report that does not change.
type reportVersion [sha256.Size]byte

// reportCacheSize is how much memory reports may take that were made before. The report on a long video has a
// megabyte, and takes as long to make as hundreds of reads.
const reportCacheSize = 16 << 20

func newReportRoutes(c *catalog.Catalog) reportRoutes {
	return reportRoutes{c, cache.New[reportVersion, []byte](reportCacheSize)}
}

func (r reportRoutes) register(t *table) {
	add(t, operation{
		id: "getReport", route: "GET /api/video/{id}/report", summary: "Get the report on a video", tag: "video",
		scopes: []auth.Scope{auth.Read}, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, r.get)
}

// reportView is the report on a video.
type reportView struct {
	ID        video.ID           `json:"id" format:"uuid"`
	Status    video.Status       `json:"status" enum:"pending_upload,processing,ready,fail"`
	Failure   *failure           `json:"failure,omitempty" doc:"Why status is fail."`
	Found     *foundView         `json:"found,omitempty" doc:"What the file contains; known once it has been inspected."`
	Decisions []decisionView     `json:"decisions,omitempty" doc:"How it is converted, and why; known once it has been inspected."`
	Copy      *copyView          `json:"copy,omitempty" doc:"What became of copySource auto; known once the file has been inspected. Absent with never."`
	Warnings  []failure          `json:"warnings" nullable:"false" doc:"Problems of a file that was converted nevertheless."`
	Runs      []runView          `json:"runs" nullable:"false" doc:"The programs that were run, in the order they ended. If there are very many, only the first and those that failed are listed."`
	Totals    totalsView         `json:"totals" doc:"The cost of all runs, including those that are not listed."`
	Outputs   byName[outputView] `json:"outputs" doc:"The files that are ready."`
	Loudness  *loudnessView      `json:"loudness,omitempty" doc:"How loud the default sound track is. Absent until it is measured."`
	Tracks    []soundView        `json:"audioTracks" nullable:"false" doc:"The sound tracks, in the order in which people see them."`
	Files     []fileView         `json:"files,omitempty" nullable:"false" doc:"The published files that belong to no resolution."`
	SHA256    *string            `json:"sha256" nullable:"true" doc:"Of the uploaded file, hexadecimal. null if it is not known: see createOriginal."`
}

// fileView is a published file that belongs to no resolution.
type fileView struct {
	Name        string         `json:"name" doc:"The end of its URL." example:"poster.jpg"`
	Kind        video.FileKind `json:"kind" doc:"What it is for." example:"poster"`
	ContentType string         `json:"contentType" example:"image/jpeg"`
	Language    string         `json:"language,omitempty" example:"en"`
	Label       string         `json:"label,omitempty"`
	SizeBytes   int64          `json:"sizeBytes"`
}

// copyView is what became of the wish to copy the picture of a file.
type copyView struct {
	Copied  bool               `json:"copied" doc:"A resolution is the picture of the file. false with no reasons: none has the size of the file, or they were made with other keyframes before."`
	Reasons []video.CopyReason `json:"reasons" nullable:"false" enum:"codec,profile,pixel_format,hdr,interlaced,aspect,rotated,edit_list,frame_rate,open_gop,keyframe_distance,bitrate,damaged,watermark,trim" doc:"Why it is encoded: all that inspecting the file found, or what was found when it was read."`
}

func viewCopy(p *video.Plan) *copyView {
	if p.Copy == nil {
		return nil
	}
	return &copyView{Copied: p.CopiedRendition() >= 0, Reasons: append([]video.CopyReason{}, p.Copy.Reasons...)}
}

// foundView is what was found in the file.
type foundView struct {
	Container       string          `json:"container" doc:"As ffmpeg calls it." example:"mov,mp4,m4a,3gp,3g2,mj2"`
	SizeBytes       int64           `json:"sizeBytes"`
	DurationSeconds float64         `json:"durationSeconds"`
	Frames          int             `json:"frames"`
	Video           foundVideoView  `json:"video"`
	Audio           *foundAudioView `json:"audio,omitempty" doc:"Absent if there is no usable audio."`
	Streams         []streamView    `json:"streams,omitempty" nullable:"false" doc:"All streams of the file, used or not; at most 100. Absent for videos that were inspected before there was this list."`
}

type streamView struct {
	Index        int      `json:"index" doc:"Within the file."`
	Type         string   `json:"type,omitempty" doc:"video, audio, subtitle, data or attachment; absent if it is not known." example:"subtitle"`
	Codec        string   `json:"codec" example:"mov_text"`
	Language     string   `json:"language,omitempty" doc:"As the file has it." example:"eng"`
	Title        string   `json:"title,omitempty" doc:"As the file has it, up to 200 characters."`
	Dispositions []string `json:"dispositions" nullable:"false" doc:"What the stream is for, as ffmpeg calls it." example:"[\"default\",\"forced\"]"`
}

type foundVideoView struct {
	Stream      int     `json:"stream" doc:"Index of the stream within the file."`
	Codec       string  `json:"codec" example:"h264"`
	PixelFormat string  `json:"pixelFormat" example:"yuv420p"`
	CodedWidth  int     `json:"codedWidth" doc:"As stored."`
	CodedHeight int     `json:"codedHeight" doc:"As stored."`
	Width       int     `json:"width" doc:"As displayed: rotated upright, with square pixels."`
	Height      int     `json:"height" doc:"As displayed."`
	Rotation    int     `json:"rotation" doc:"Clockwise rotation for display, in degrees."`
	TimeBase    string  `json:"timeBase" doc:"The unit of timestamps, in seconds." example:"1/90000"`
	FrameRate   float64 `json:"frameRate" doc:"Frames per second, on average."`
	Bitrate     int64   `json:"bitrate,omitempty" doc:"In bits per second."`
	Matrix      string  `json:"matrix,omitempty" doc:"Matrix coefficients of the colours, if the file has them." example:"bt709"`
	Transfer    string  `json:"transfer,omitempty" example:"bt709"`
	Primaries   string  `json:"primaries,omitempty" example:"bt709"`
	FullRange   bool    `json:"fullRange"`
}

type foundAudioView struct {
	Stream   int    `json:"stream" doc:"Index of the stream within the file."`
	Codec    string `json:"codec" example:"aac"`
	Channels int    `json:"channels"`
}

type decisionView struct {
	Decision string `json:"decision" doc:"A sentence for a person."`
	Reason   string `json:"reason" doc:"A sentence for a person."`
}

// runView is one child process.
type runView struct {
	Task           string    `json:"task" doc:"The kind of task that it belongs to." example:"encode"`
	Number         int       `json:"number" doc:"Which of several tasks of this kind, such as the chunk that it encodes."`
	Attempt        int       `json:"attempt" doc:"The attempt of the task, from 1."`
	Program        string    `json:"program" example:"ffmpeg"`
	Arguments      []string  `json:"arguments" nullable:"false" doc:"With \"source\" for the uploaded file and \"out/\" for the output directory. A very long list is truncated."`
	StartedAt      time.Time `json:"startedAt"`
	WallSeconds    float64   `json:"wallSeconds"`
	CPUSeconds     float64   `json:"cpuSeconds" doc:"CPU time of all threads."`
	MaxMemoryBytes int64     `json:"maxMemoryBytes,omitempty" doc:"Peak memory; absent if it was less than the server's own, because then it is not known."`
	Result         string    `json:"result" doc:"ok, or how it ended." example:"ok"`
}

type totalsView struct {
	Runs         int      `json:"runs"`
	WallSeconds  float64  `json:"wallSeconds" doc:"Runs overlap, so this can be more than totalSeconds."`
	CPUSeconds   float64  `json:"cpuSeconds"`
	QueueSeconds *float64 `json:"queueSeconds,omitempty" doc:"From the completed upload to the first run."`
	TotalSeconds *float64 `json:"totalSeconds,omitempty" doc:"From the completed upload until the video was ready or failed; if resolutions were added later, until those were."`

	Codecs []codecCostView `json:"codecs,omitempty" nullable:"false" doc:"What each codec beside H.264 cost, which is a part of the totals. Absent if only H.264 was made."`
}

type codecCostView struct {
	Codec      video.Codec `json:"codec" enum:"h264,av1,hevc"`
	Runs       int         `json:"runs" doc:"Of those that are listed."`
	CPUSeconds float64     `json:"cpuSeconds"`
}

type outputView struct {
	Width     int     `json:"width"`
	Height    int     `json:"height"`
	SizeBytes int64   `json:"sizeBytes"`
	Bitrate   int64   `json:"bitrate" doc:"In bits per second."`
	Method    string  `json:"method" enum:"encoded,copied" doc:"copied: its picture is the picture of the file."`
	CRF       float64 `json:"crf,omitempty" doc:"The quality setting of the encoder: less is better. Absent where hardware encodes, and where the picture is copied."`

	MaxBitrate int64 `json:"maxBitrate,omitempty" doc:"The most bits a second that its picture was allowed to have on average, because the picture of the source has so few. Absent where the source set no limit, and where the picture is copied."`

	SSIM *float64 `json:"ssim,omitempty" maximum:"1" doc:"Structural similarity to the source (luma of sampled frames); 1 is identical. Known soon after the video is ready, if the server measures it."`
	PSNR *float64 `json:"psnr,omitempty" doc:"Peak signal-to-noise ratio of the same frames, in decibels, at most 100."`

	NoBetterThan video.Name `json:"noBetterThan,omitempty" doc:"A smaller resolution that looks as much like the source when it is enlarged to this size: this one takes bytes and shows nothing more. Measured together with ssim; absent if this one is better." example:"360p"`

	Variants []outputVariantView `json:"variants,omitempty" nullable:"false" doc:"What became of it in each codec beside H.264. Absent if it was made in H.264 alone."`
}

type outputVariantView struct {
	Codec      video.Codec  `json:"codec" enum:"h264,av1,hevc"`
	Status     video.Status `json:"status" enum:"pending_upload,processing,ready,fail"`
	SizeBytes  int64        `json:"sizeBytes,omitempty"`
	Bitrate    int64        `json:"bitrate,omitempty" doc:"In bits per second."`
	CRF        float64      `json:"crf,omitempty" doc:"The quality setting of this codec's encoder."`
	MaxBitrate int64        `json:"maxBitrate,omitempty" doc:"As of the output, in this codec."`
	Failure    *failure     `json:"failure,omitempty" doc:"Why status is fail."`
}

// get answers with the report on a video. If the video is finished, its report is made once.
func (r reportRoutes) get(ctx context.Context, c *call) (*reportView, error) {
	version, settled, err := r.catalog.ReportVersion(ctx, c.actor, c.id)
	if err != nil {
		return nil, err
	}
	if made, ok := r.made.Get(version); ok {
		c.encoded = made
		return nil, nil
	}
	if err := c.turn.Work(ctx); err != nil {
		return nil, err
	}
	report, err := r.catalog.Report(ctx, c.actor, c.id)
	if err != nil {
		return nil, err
	}
	if c.encoded, err = encode(viewReport(report)); err == nil && settled {
		r.made.Put(version, c.encoded, int64(cap(c.encoded)))
	}
	return nil, err
}

func viewReport(r catalog.Report) *reportView {
	v := r.Video
	out := &reportView{
		ID: v.ID, Status: v.Status, Failure: viewFailure(v.Failure), SHA256: viewHash(v),
		Warnings: viewWarnings(v.Warnings), Runs: []runView{}, Totals: viewTotals(v, r.Cost),
		Tracks: viewSounds(v),
	}
	if t, ok := v.Sound.Default(); ok {
		out.Loudness = viewLoudness(t.Loudness)
	}
	if v.Plan != nil {
		out.Found, out.Copy = viewFound(v), viewCopy(v.Plan)
		for _, d := range v.Plan.Decisions() {
			out.Decisions = append(out.Decisions, decisionView{Decision: d.What, Reason: d.Why})
		}
	}
	for _, f := range v.Files {
		out.Files = append(out.Files, fileView{
			Name: f.Name, Kind: f.Kind, ContentType: f.ContentType, Language: f.Language, Label: f.Label, SizeBytes: f.Size,
		})
	}
	for _, run := range r.Executions {
		out.Runs = append(out.Runs, viewRun(run))
	}
	out.Totals.Codecs = viewCodecCosts(v, r.Executions)
	for _, res := range v.Resolutions {
		if res.Status == video.Ready {
			o := viewOutput(v, res)
			out.Outputs = append(out.Outputs, named[outputView]{res.Name, o})
			if o.NoBetterThan != "" {
				out.Decisions = append(out.Decisions, decisionView{
					Decision: fmt.Sprintf("%s was made, but shows no more than %s does.", res.Name, o.NoBetterThan),
					Reason:   fmt.Sprintf("Frames of %s look as much like the file when they are enlarged (SSIM), so viewers gain nothing from the larger size.", o.NoBetterThan),
				})
			}
		}
	}
	return out
}

func viewFound(v video.Video) *foundView {
	p, in := v.Plan, v.Plan.Input
	f := &foundView{
		Container: in.Container, SizeBytes: v.Source.Size, DurationSeconds: p.Duration.Seconds(), Frames: p.Frames,
		Video: foundVideoView{
			Stream: in.VideoStream, Codec: in.Codec, PixelFormat: in.PixelFormat,
			CodedWidth: in.CodedWidth, CodedHeight: in.CodedHeight, Width: in.Width, Height: in.Height, Rotation: in.Rotation,
			TimeBase: fmt.Sprintf("%d/%d", in.TimeBase.Num, in.TimeBase.Den), FrameRate: in.FrameRate, Bitrate: in.Bitrate,
			Matrix: in.Matrix, Transfer: in.Transfer, Primaries: in.Primaries, FullRange: in.FullRange,
		},
	}
	for _, s := range p.Streams {
		f.Streams = append(f.Streams, streamView{
			Index: s.Index, Type: s.Type, Codec: s.Codec, Language: s.Language, Title: s.Title,
			Dispositions: append([]string{}, s.Dispositions...), // never null
		})
	}
	if a := p.Audio; a != nil {
		f.Audio = &foundAudioView{Stream: a.Stream, Codec: a.Codec, Channels: a.Channels}
	}
	return f
}

func viewRun(r video.Execution) runView {
	return runView{
		Task: r.Task, Number: r.Number, Attempt: r.Attempt,
		Program: r.Program, Arguments: append([]string{}, r.Arguments...), // never null
		StartedAt: r.StartedAt.UTC(), WallSeconds: seconds(r.Wall), CPUSeconds: seconds(r.CPU), MaxMemoryBytes: r.Memory, Result: r.Result,
	}
}

func viewTotals(v video.Video, e video.Cost) totalsView {
	since := func(t time.Time) *float64 {
		if t.IsZero() || v.CompletedAt.IsZero() {
			return nil
		}
		return new(seconds(max(0, t.Sub(v.CompletedAt)))) // the clock may have been set back
	}
	return totalsView{
		Runs: e.Executions, WallSeconds: seconds(e.Wall), CPUSeconds: seconds(e.CPU),
		QueueSeconds: since(e.BeganAt), TotalSeconds: since(e.EndedAt),
	}
}

// viewCodecCosts adds up what each codec beside H.264 cost, of the runs that are listed.
func viewCodecCosts(v video.Video, runs []video.Execution) []codecCostView {
	var all []codecCostView
	for _, c := range v.Codecs {
		cost := codecCostView{Codec: c}
		for _, run := range runs {
			if catalog.CodecOf(run) == c {
				cost.Runs, cost.CPUSeconds = cost.Runs+1, cost.CPUSeconds+seconds(run.CPU)
			}
		}
		all = append(all, cost)
	}
	return all
}

func viewOutput(v video.Video, r video.Resolution) outputView {
	o := outputView{Width: r.Width, Height: r.Height, SizeBytes: r.SizeBytes, Bitrate: r.Bitrate, Method: methodOf(r)}
	if !r.Copied {
		o.CRF, o.MaxBitrate = v.Plan.CRF(r.Name, video.H264), v.Plan.MaxBitrate(r.Name, video.H264)
	}
	for _, x := range v.Variants(r) {
		o.Variants = append(o.Variants, outputVariantView{
			Codec: x.Codec, Status: x.Status, SizeBytes: x.SizeBytes, Bitrate: x.Bitrate, CRF: v.Plan.CRF(r.Name, x.Codec), MaxBitrate: v.Plan.MaxBitrate(r.Name, x.Codec), Failure: viewFailure(x.Failure),
		})
	}
	if l := r.Quality; l != nil {
		if small, has := v.Resolution(l.NoBetterThan); has && small.Status == video.Ready {
			o.NoBetterThan = small.Name
		}
		o.SSIM, o.PSNR = new(math.Round(l.SSIM*1e4)/1e4), new(math.Round(l.PSNR*100)/100)
	}
	return o
}

// seconds rounds to the millisecond: more digits would claim more than was measured.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
