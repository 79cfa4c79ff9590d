package encode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// Thumbnails makes the JPEGs, one for each thumbnail and rendition. One that
// cannot be made is left out.
func (enc *Encoder) Thumbnails(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) ([]Output, error) {
	return enc.stills(ctx, job, p, stillOptions{threads: enc.threads, quality: 3}, progress)
}

// stillOptions are how JPEGs are made.
type stillOptions struct {
	threads int // of the decoder
	quality int // of ffmpeg's JPEG encoder; 2 is the best
}

// stills makes the JPEGs of a plan's thumbnails.
func (enc *Encoder) stills(ctx context.Context, job ffmpeg.Job, p *video.Plan, o stillOptions, progress ffmpeg.Progress) ([]Output, error) {
	if err := colour.WriteLUT(job.OutDir, p.Input); err != nil {
		return nil, fmt.Errorf("thumbnails: %w", err)
	}
	var outputs []Output
	all := plan.Batches(p)
	ctx, cancel := enc.withDeadline(ctx, thumbnailTime(all, enc.run.StallTimeout())+patience(p, video.NoSeek))
	defer cancel()
	for n, b := range all {
		made, err := enc.thumbnails(ctx, job, p, b, o)
		if err != nil {
			return nil, fmt.Errorf("thumbnails, run %d: %w", n, err)
		}
		outputs = append(outputs, made...)
		progress.Report(float64(n+1) / float64(len(all)))
	}
	slices.SortStableFunc(outputs, func(a, b Output) int { return a.Thumbnail - b.Thumbnail })
	return outputs, nil
}

// thumbnails makes the frames of a batch. In a damaged source the requested
// frame may not be decodable. Another frame is then used: the frame of another
// shot, the keyframe before, and finally the first frame of the video.
func (enc *Encoder) thumbnails(ctx context.Context, job ffmpeg.Job, p *video.Plan, b plan.Batch, o stillOptions) ([]Output, error) {
	anything := []plan.Shot{{PTS: video.NoSeek}}
	if p.Part != nil {
		anything[0].PTS = p.FirstPTS // not what was cut off
	}
	for _, try := range []plan.Batch{b, {Seek: b.Seek, Shots: anything}, {Seek: video.NoSeek, Shots: anything}} {
		if err := removeShots(job, p, len(b.Shots)); err != nil {
			return nil, err
		}
		job.Patience = patience(p, try.Seek)
		stderr, err := enc.run.Encode(ctx, job, enc.thumbnailPolicy(job, p), thumbnailArgs(job, p, try, o), func(float64) {})
		if sparse := job.SparseError(ctx, err, stderr); sparse != nil {
			return nil, sparse
		}
		if ours := ffmpeg.MachineError(err, stderr); ours != nil {
			return nil, ours
		}
		made, err := collect(job, p, b)
		if err != nil || len(made) > 0 {
			return made, err
		}
	}
	return nil, nil
}

// shotPath is where ffmpeg puts a frame, counted within its batch.
func shotPath(n, rendition int) string { return fmt.Sprintf("s%d_%d.jpg", n, rendition) }

func thumbnailPath(job ffmpeg.Job, thumbnail, rendition int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("t%d_%d.jpg", thumbnail, rendition))
}

func removeShots(job ffmpeg.Job, p *video.Plan, n int) error {
	for i := range n {
		for r := range p.Renditions {
			if err := os.Remove(filepath.Join(job.OutDir, shotPath(i, r))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// collect copies the frames of a batch to their thumbnails. A frame that was not
// made, or not at every rendition, is replaced by its neighbour.
func collect(job ffmpeg.Job, p *video.Plan, b plan.Batch) ([]Output, error) {
	var outputs []Output
	latest := -1
	for i, s := range b.Shots {
		made, err := checkShot(job, p, i)
		if err != nil {
			return nil, err
		}
		if made {
			latest = i
		} else if job.Sparse {
			return nil, fmt.Errorf("%w: it has no frame at %d", ffmpeg.ErrSparse, s.PTS)
		}
		if latest < 0 {
			return nil, nil // they are made in order, so there are none
		}
		for _, n := range s.Thumbnails {
			for r := range p.Renditions {
				path := thumbnailPath(job, n, r)
				size, err := copyFile(path, filepath.Join(job.OutDir, shotPath(latest, r)))
				if err != nil {
					return nil, err
				}
				outputs = append(outputs, Output{Path: path, Rendition: r, Thumbnail: n, Frames: 1, Size: size})
			}
		}
	}
	return outputs, nil
}

// checkShot reports whether a frame is complete at all renditions.
func checkShot(job ffmpeg.Job, p *video.Plan, n int) (bool, error) {
	for i, r := range p.Renditions {
		whole, err := checkJPEG(filepath.Join(job.OutDir, shotPath(n, i)), maxJPEG(r))
		if err != nil || !whole {
			return false, err
		}
	}
	return true, nil
}

// maxJPEG is the largest JPEG of a rendition in bytes. With the quality that is
// asked for, one of pure noise has about one for each pixel.
func maxJPEG(r video.Rendition) int64 { return 1<<20 + 3*int64(r.Width)*int64(r.Height) }

// checkJPEG reports whether a file begins and ends as a JPEG does. It does not read
// the rest. A file that is larger than most is an error.
func checkJPEG(path string, most int64) (whole bool, err error) {
	f, size, err := openOutput(path, "a thumbnail", most)
	if f == nil {
		return false, err
	}
	defer f.Close()
	var head, end [2]byte
	if size < int64(len(head)+len(end)) {
		return false, nil
	}
	_, headErr := f.ReadAt(head[:], 0)
	_, endErr := f.ReadAt(end[:], size-int64(len(end)))
	return string(head[:]) == "\xff\xd8" && string(end[:]) == "\xff\xd9", errors.Join(headErr, endErr)
}

// openOutput opens a file that ffmpeg may have written. Without one, it returns nil. A file
// of more than most bytes is an error.
func openOutput(path, what string, most int64) (f *os.File, size int64, err error) {
	f, err = os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		err = fmt.Errorf("%w: %s of %d MiB", ffmpeg.ErrTooBig, what, info.Size()>>20)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// copyFile copies a file without holding it in memory.
func copyFile(to, from string) (size int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(out, in)
	return size, errors.Join(err, out.Close())
}

// thumbnailArgs makes the frames of a batch at every rendition. ffmpeg numbers
// the files in its working directory, the job's folder.
func thumbnailArgs(job ffmpeg.Job, p *video.Plan, b plan.Batch, o stillOptions) []string {
	still := *p
	still.Deinterlace = false // done before frames are selected: it needs their neighbours
	source := fmt.Sprintf("[0:%d]", p.Input.VideoStream)
	args := append(ffmpeg.FrameArgs(job, p.Input, b.Seek, o.threads), "-filter_complex", graphFrom(source, &still, shotFilters(p, b), toJPEG, everyFrame))
	for r := range p.Renditions {
		args = append(args, "-map", fmt.Sprintf("[v%d]", r), "-frames:v", strconv.Itoa(len(b.Shots)), "-fps_mode", "passthrough",
			"-c:v", "mjpeg", "-q:v", strconv.Itoa(o.quality), "-flags", "+bitexact") // without the encoder's name in it
		args = append(args, ffmpeg.NoMetadata...)
		args = append(args, "-f", "image2", "-start_number", "0", "file:"+strings.Replace(shotPath(0, r), "s0", "s%d", 1))
	}
	return args
}

// shotFilters pass the shots of a batch: for each, the first frame that is not
// shown before it.
func shotFilters(p *video.Plan, b plan.Batch) []string {
	if p.IsStill() {
		return nil
	}
	filters := clockFilters(p)
	shift, unit := int64(0), int64(1)
	if !ffmpeg.HasTimestamps(p.Input) && b.Seek == video.NoSeek {
		filters = append(filters, "setpts=PTS-STARTPTS")
		shift = p.Origin()
	}
	if p.Deinterlace {
		filters = append(filters, deinterlace)
		unit = 2 // the deinterlacer halves the time base
	}
	if b.Shots[0].PTS == video.NoSeek {
		return append(filters, "null")
	}
	// The time to wait for increases with each selected frame.
	var e strings.Builder
	before := int64(0)
	for i, s := range b.Shots {
		at := unit * (s.PTS - shift)
		if i == 0 {
			fmt.Fprintf(&e, "%d", at)
		} else {
			fmt.Fprintf(&e, "+%d*gte(selected_n,%d)", at-before, i)
		}
		before = at
	}
	return append(filters, fmt.Sprintf("select='gte(pts,%s)'", e.String()))
}
