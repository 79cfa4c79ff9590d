package encode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// Pictures are the paths of what Encoder.Pictures has made.
type Pictures struct {
	Storyboard string   // WebVTT; "" if none was made
	Sprites    []string // that it names, in the order of their numbers
	Preview    string   // animated WebP; "" if none was made
}

// Pictures makes the storyboard and the preview of a finished rendition, which is the job's source.
// A rendition is upright, has square pixels, plain colours and keyframes at known times, whatever the
// upload was, and decoding a small one costs next to nothing. What cannot be made is left out.
func (enc *Encoder) Pictures(ctx context.Context, job ffmpeg.Job, progress ffmpeg.Progress) (Pictures, error) {
	keys, err := readKeyframes(job.Source)
	if err != nil {
		return Pictures{}, fmt.Errorf("pictures: %w", err)
	}
	film := &video.Plan{
		Input:    video.Input{CodedWidth: keys.Width, CodedHeight: keys.Height},
		Duration: keys.End, Renditions: []video.Rendition{{Width: keys.Width, Height: keys.Height}},
	}
	ctx, cancel := enc.withDeadline(ctx, videoTime(film, keys.End))
	defer cancel()
	m := pictureMaker{enc: enc, job: job, keys: keys, may: enc.encodePolicy(job, film, keys.End)}
	var made Pictures
	if made.Storyboard, made.Sprites, err = m.storyboard(ctx); err != nil {
		return Pictures{}, fmt.Errorf("storyboard: %w", err)
	}
	progress.Report(0.5)
	if made.Preview, err = m.preview(ctx); err != nil {
		return Pictures{}, fmt.Errorf("preview: %w", err)
	}
	return made, nil
}

func readKeyframes(path string) (mp4.Keyframes, error) {
	f, err := os.Open(path)
	if err != nil {
		return mp4.Keyframes{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return mp4.Keyframes{}, err
	}
	return mp4.ReadKeyframes(mp4.Input{ReaderAt: f, Size: info.Size()})
}

// pictureMaker makes the pictures of one film.
type pictureMaker struct {
	enc  *Encoder
	job  ffmpeg.Job
	keys mp4.Keyframes
	may  sandbox.Policy
}

// run runs ffmpeg. It returns only errors of this machine: the caller checks which files were made.
func (m pictureMaker) run(ctx context.Context, args []string) error {
	stderr, err := m.enc.run.Encode(ctx, m.job, m.may, args, func(float64) {})
	return ffmpeg.MachineError(err, stderr)
}

// path returns the path of an output.
func (m pictureMaker) path(name string) string { return filepath.Join(m.job.OutDir, name) }

// pictureArgs are the options of every run.
var pictureArgs = slices.Clip(append(ffmpeg.RunArgs(), "-filter_complex_threads", "1"))

// input opens the film.
func (m pictureMaker) input(options ...string) []string {
	return slices.Concat(ffmpeg.RenditionInput, options, []string{"-i", ffmpeg.FileURL(m.job.Source)})
}

// fit returns the size of a picture whose longer side has at most so many pixels. Both are even.
func (m pictureMaker) fit(longest int) (width, height int) {
	w, h := m.keys.Width, m.keys.Height
	scale := min(1, float64(longest)/float64(max(w, h, 1)))
	even := func(n int) int { return max(2, int(float64(n)*scale/2+0.5)*2) }
	return even(w), even(h)
}

// before returns the latest keyframe that is not shown after a time.
func (m pictureMaker) before(at time.Duration) time.Duration {
	i, found := slices.BinarySearch(m.keys.At, at)
	if !found {
		i--
	}
	return m.keys.At[max(i, 0)]
}
