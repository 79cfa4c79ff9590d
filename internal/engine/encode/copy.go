package encode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/video"
)

// copyArgs copy the packets of chunk n. They begin at the keyframe that is its first frame, so the first ones in the file
// are all of it. As a byte stream first, because every container stores H.264 in its own way.
func copyArgs(p *video.Plan, n int) []string {
	c := p.Chunks[n]
	return []string{
		"-map", fmt.Sprintf("0:%d", p.Input.VideoStream), "-c:v", "copy", "-frames:v", strconv.Itoa(c.Frames),
		"-bsf:v", fmt.Sprintf("h264_mp4toannexb,setts=pts=PTS-(%[1]d):dts=DTS-(%[1]d)", p.FirstPTS),
	}
}

// decodedFile is where a run that encodes nothing lists the frames that it decoded.
const decodedFile = "decoded.txt"

// decodeArgs decode chunk n and list its frames: a picture that is copied must decode without errors, and no rendition is
// encoded beside it that would show it.
func decodeArgs(job ffmpeg.Job, p *video.Plan, n int) []string {
	filters := append(chunkFilters(p, n), "scale=16:16:flags=neighbor")
	return []string{
		"-filter_complex", sourceLabel(p) + strings.Join(filters, ",") + "[checked]",
		"-map", "[checked]", "-fps_mode", "passthrough", "-f", "framecrc", ffmpeg.FileURL(filepath.Join(job.OutDir, decodedFile)),
	}
}

// decodedFrames counts the frames that a run with decodeArgs has decoded.
func decodedFrames(job ffmpeg.Job) (int, error) {
	f, err := os.Open(filepath.Join(job.OutDir, decodedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines, comments := 0, 0
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		lines += bytes.Count(buf[:n], []byte("\n"))
		comments += bytes.Count(buf[:n], []byte("#"))
		if err == io.EOF {
			return lines - comments, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// finishCopy turns what a run has copied of chunk n into a chunk file like those that are encoded. frames is how many
// frames were decoded, and stderr what ffmpeg complained about. A picture that is no good has a reason and no file.
func finishCopy(job ffmpeg.Job, p *video.Plan, n, rendition, frames int, stderr string) (Output, video.CopyReason, error) {
	raw, clean := chunkFilePath(job, rendition), filepath.Join(job.OutDir, fmt.Sprintf("c%d.mp4", rendition))
	defer os.Remove(raw)
	if strings.TrimSpace(stderr) != "" || frames != p.Chunks[n].Frames {
		return Output{}, video.CopyDamaged, nil
	}
	in, err := os.Open(raw)
	if errors.Is(err, fs.ErrNotExist) {
		return Output{}, video.CopyDamaged, nil
	}
	if err != nil {
		return Output{}, "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Output{}, "", err
	}
	out, err := os.Create(clean)
	if err != nil {
		return Output{}, "", err
	}
	defer out.Close()
	made := &recordedErrors{w: out}
	c, err := mp4.CopyVideo(made, mp4.Input{ReaderAt: in, Size: info.Size()}, mp4.TablesFor(p.Duration))
	if made.err != nil {
		return Output{}, "", fmt.Errorf("write the copied chunk: %w", made.err)
	}
	if why := copyFault(c, err, p, n, p.Renditions[rendition]); why != "" {
		return Output{}, why, nil
	}
	if info, err = out.Stat(); err != nil {
		return Output{}, "", err
	}
	return Output{Path: clean, Rendition: rendition, Frames: c.Frames, Size: info.Size()}, "", nil
}

// recordedErrors tells errors of the disk from what is wrong with the file that is read.
type recordedErrors struct {
	w   io.Writer
	err error
}

func (r *recordedErrors) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil {
		r.err = err
	}
	return n, err
}

// copyFault returns why a copied chunk is no good, as its bytes tell: a container may say anything. err is why it could
// not be read.
func copyFault(c mp4.Copied, err error, p *video.Plan, n int, want video.Rendition) video.CopyReason {
	chunk := p.Chunks[n]
	tick := func(pts int64) int64 {
		return int64(math.Round(p.Input.TimeBase.Seconds(pts-p.FirstPTS) * float64(p.Timescale)))
	}
	switch {
	case errors.Is(err, mp4.ErrNotIDR):
		return video.CopyOpenGOP
	case err != nil:
		return video.CopyDamaged
	case !slices.Contains([]int{66, 77, 100}, c.Profile) || c.Level > 52 || !levelFits(c.Sequence):
		return video.CopyProfile
	case c.ChromaFormat != 1 || c.Bits != 8:
		return video.CopyPixelFormat
	case !c.FramesOnly:
		return video.CopyInterlaced
	case !c.SquarePixels:
		return video.CopyAspect
	case c.Width != want.Width || c.Height != want.Height || c.Frames != chunk.Frames || c.First != tick(chunk.Start),
		chunk.End != video.Forever && c.Last >= tick(chunk.End):
		return video.CopyDamaged
	}
	return ""
}

// levelFits reports whether pictures are no larger than the level allows that they declare. Devices refuse others.
func levelFits(s mp4.Sequence) bool {
	name := strings.TrimSuffix(fmt.Sprintf("%d.%d", s.Level/10, s.Level%10), ".0")
	if s.Level == 9 { // 1b
		name = "1"
	}
	return slices.ContainsFunc(levels, func(l level) bool { return l.name == name && macroblocks(s.Width, s.Height) <= l.frame })
}

// notCopied are the outputs of the copied renditions of a plan if nothing could be copied.
func notCopied(p *video.Plan, frames int) []Output {
	var all []Output
	for i, r := range p.Renditions {
		if r.Making == video.Copied {
			all = append(all, Output{Rendition: i, Frames: frames, NotCopied: video.CopyDamaged})
		}
	}
	return all
}

// finishCopies returns the outputs of the copied renditions of a plan.
func finishCopies(job ffmpeg.Job, p *video.Plan, n, frames int, stderr string) ([]Output, error) {
	var all []Output
	for i, r := range p.Renditions {
		if r.Making != video.Copied {
			continue
		}
		out, why, err := finishCopy(job, p, n, i, frames, stderr)
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = Output{Rendition: i, Frames: frames, NotCopied: why}
		}
		all = append(all, out)
	}
	return all, nil
}

// encodeWithoutCopy is encodeChunkFiles after a run failed that was to copy, too: the packets may be what made it fail.
func (enc *Encoder) encodeWithoutCopy(ctx context.Context, job ffmpeg.Job, p *video.Plan, n int, position func(seconds float64)) ([]Output, error) {
	encoded := encodedOnly(p)
	if len(encoded.Renditions) == 0 {
		return notCopied(p, 0), nil
	}
	outputs, err := enc.encodeChunkFiles(ctx, job, encoded, n, position)
	if err != nil {
		return nil, err
	}
	var indexes []int
	for i, r := range p.Renditions {
		if r.Making != video.Copied {
			indexes = append(indexes, i)
		}
	}
	for i, o := range outputs {
		outputs[i].Rendition = indexes[o.Rendition]
	}
	return append(outputs, notCopied(p, framesOf(outputs))...), nil
}
