package encode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/video"
)

// EncodeChunk encodes chunk n at every rendition with one decode, and copies it where the plan says so. The outputs
// hold equally many frames, unless a profile gives them other frame rates; those that are copied come last.
//
// A chunk of a longer video may be so damaged that nothing of it can be decoded.
// It then has no outputs and no error: the video goes on without it, and the
// last frame before it stays on the screen. A video that has no other chunk is a
// *video.Failure.
func (enc *Encoder) EncodeChunk(ctx context.Context, job ffmpeg.Job, p *video.Plan, n int, progress ffmpeg.Progress) ([]Output, error) {
	if n < 0 || n >= len(p.Chunks) {
		return nil, fmt.Errorf("encode chunk %d: the plan has %d", n, len(p.Chunks))
	}
	if err := colour.WriteLUT(job.OutDir, p.Input); err != nil {
		return nil, fmt.Errorf("encode chunk %d: %w", n, err)
	}
	job.Patience = patience(p, p.Chunks[n].Seek)
	length := p.Length(n).Seconds()
	start := p.Input.TimeBase.Seconds(p.Chunks[n].Start - p.FirstPTS)
	outputs, err := enc.encodeChunkFiles(ctx, job, p, n, func(at float64) {
		if length > 0 {
			progress.Report((at - start) / length)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("encode chunk %d: %w", n, err)
	}
	if err := job.MissingFrames(framesOf(outputs), p.Chunks[n].FramesOf(p.Renditions[0])); err != nil {
		return nil, fmt.Errorf("encode chunk %d: %w", n, err)
	}
	if framesOf(outputs) == 0 && len(p.Chunks) == 1 {
		return nil, ffmpeg.Undecodable()
	}
	progress.Report(1)
	return outputs, nil
}

// tooSmall is a failure if the software encoder of the plan's codec may have refused a rendition for its
// size: some versions do.
func tooSmall(p *video.Plan) error {
	codec := p.OutputCodec()
	least := encodersFor(codec, Software)[0].minSide
	for _, r := range p.Renditions {
		if r.Width < least || r.Height < least {
			return video.Failf(video.UnsupportedCodec, "A picture of %d × %d pixels cannot be encoded as %s, which needs at least %d × %d.", r.Width, r.Height, codec.Title(), least, least)
		}
	}
	return nil
}

// framesOf returns how many frames the first of the outputs has.
func framesOf(outputs []Output) int {
	if len(outputs) == 0 {
		return 0
	}
	return outputs[0].Frames
}

// encodeChunkFiles encodes with the plan's codec. If hardware fails, because it
// is busy, broken or too small for this video, software is used.
func (enc *Encoder) encodeChunkFiles(ctx context.Context, job ffmpeg.Job, p *video.Plan, n int, position func(seconds float64)) ([]Output, error) {
	codec := p.OutputCodec()
	all := encodersFor(codec, Software)
	if codec == video.H264 && enc.encoder.accelerator != Software {
		all = []codecEncoder{enc.encoder, all[0]}
	}
	var outputs []Output
	var err error
	ours := false // the machine is to blame
	for i, e := range all {
		may := e.policy(enc.encodePolicy(job, p, p.Length(n)))
		may.CPU += maxSlowdown * leadTime(p, n)
		run, cancel := enc.withDeadline(ctx, time.Duration(e.costFactor)*chunkTime(p, n))
		var stderr string
		stderr, err = enc.run.Encode(run, job, may, chunkArgs(job, p, n, e, enc.threads), position)
		cancel()
		if sparse := job.SparseError(ctx, err, stderr); sparse != nil {
			outputs, err, ours = nil, sparse, true
		} else {
			ours = ffmpeg.MachineError(err, stderr) != nil
			outputs, err = checkChunkFiles(job, p, n, err, stderr)
		}
		if err == nil || ctx.Err() != nil || i == len(all)-1 {
			break
		}
		enc.log.WarnContext(ctx, "hardware could not encode a chunk; software does it", "encoder", e.name, "err", err)
	}
	if err != nil && ctx.Err() == nil && !ours && p.CopiedRendition() >= 0 {
		return enc.encodeWithoutCopy(ctx, job, p, n, position)
	}
	return outputs, err
}

// checkChunkFiles checks what a run made of a chunk. The exit status proves
// nothing in either direction, so the files decide.
func checkChunkFiles(job ffmpeg.Job, p *video.Plan, n int, err error, stderr string) ([]Output, error) {
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return nil, ours
	}
	var outputs []Output
	for i, r := range p.Renditions {
		if r.Making == video.Copied {
			continue
		}
		out, checkErr := checkFile(chunkFilePath(job, i), p.OutputCodec(), &r, p.Duration)
		if checkErr != nil && err == nil {
			return nil, checkErr
		}
		out.Rendition = i
		outputs = append(outputs, out)
	}
	frames := framesOf(outputs)
	if len(outputs) == 0 {
		var countErr error
		if frames, countErr = decodedFrames(job); countErr != nil {
			return nil, countErr
		}
	}
	switch {
	case err != nil && frames == 0 && !ffmpeg.SourceDamaged(stderr):
		return nil, cmp.Or(tooSmall(p), err)
	case err != nil && frames > 0:
		return nil, err
	case frames == 0:
		return notCopied(p, 0), nil
	}
	if err := checkFrames(p, outputs); err != nil {
		return nil, err
	}
	copied, err := finishCopies(job, p, n, frames, stderr)
	return append(outputs, copied...), err
}

// checkFrames compares the numbers of frames of renditions that have the same frame rate.
func checkFrames(p *video.Plan, outputs []Output) error {
	same := map[int]int{} // the first rendition of each rate
	for i, o := range outputs {
		rate := p.Renditions[o.Rendition].Profile.MaxFPS
		first, met := same[rate]
		if !met {
			same[rate], first = i, i
		}
		if o.Frames == 0 || o.Frames != outputs[first].Frames {
			return fmt.Errorf("rendition %d has %d frames, rendition %d has %d", o.Rendition, o.Frames, outputs[first].Rendition, outputs[first].Frames)
		}
	}
	return nil
}

// sampleEntries are the names of codecs in an MP4.
var sampleEntries = map[video.Codec]string{video.H264: "avc1", video.HEVC: "hvc1", video.AV1: "av01"}

// checkFile opens a file that ffmpeg made and counts its frames. A missing file
// counts as one without frames. want is nil for audio. length is the duration of
// the whole video.
func checkFile(path string, codec video.Codec, want *video.Rendition, length time.Duration) (Output, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Output{Path: path}, nil
	}
	if err != nil {
		return Output{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Output{}, err
	}
	out := Output{Path: path, Size: info.Size()}
	track, err := mp4.Inspect(mp4.Input{ReaderAt: f, Size: info.Size()}, mp4.TablesFor(length))
	if errors.Is(err, mp4.ErrNoFrames) {
		return out, nil
	}
	if errors.Is(err, mp4.ErrTooLarge) {
		return out, fmt.Errorf("%w: %v", ffmpeg.ErrTooBig, err)
	}
	if err != nil {
		return out, fmt.Errorf("read chunk file: %w", err)
	}
	out.Frames = track.Frames
	if want != nil && (track.Codec != sampleEntries[codec] || track.Width != want.Width || track.Height != want.Height) {
		return out, fmt.Errorf("chunk file is %s of %d × %d instead of %s of %d × %d", track.Codec, track.Width, track.Height, codec, want.Width, want.Height)
	}
	return out, nil
}
