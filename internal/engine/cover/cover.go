// Package cover makes the picture of a file that has sound and no picture: of its embedded cover or, where that is
// missing or damaged, of its waveform. It is a plain PNG, so that no later run opens what the file brought. Covers are
// hostile until proven otherwise, so they are decoded in the sandbox alone.
package cover

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

const (
	// maxSide is the longer side of the picture. Larger covers are reduced.
	maxSide = 3840
	// width and height are the size of a waveform.
	width, height = 1280, 720

	// What a run may use.
	baseMemory    = 512 << 20
	bytesPerPixel = 60
	maxFile       = 64 << 20
	minWall       = 2 * time.Minute
)

// Maker makes pictures of files. It is safe for concurrent use.
type Maker struct{ run *ffmpeg.Runner }

// NewMaker returns a maker whose child processes are run by run.
func NewMaker(run *ffmpeg.Runner) *Maker { return &Maker{run} }

// Picture is what was made.
type Picture struct {
	Kind          video.Still
	Width, Height int
}

// Path is where the picture of a job lies.
func Path(job ffmpeg.Job) string { return filepath.Join(job.OutDir, name) }

const name = "cover.png"

// Make makes the picture of a file whose sound is a track of a length. A *video.Failure says that neither a cover nor
// any of the sound can be decoded.
func (m *Maker) Make(ctx context.Context, job ffmpeg.Job, found *probe.Result, track probe.Stream, length time.Duration) (Picture, error) {
	in := video.Input{Container: found.Format.Name, Still: video.Cover, RawClock: found.RawClock, EditStarts: found.EditStarts}
	for _, c := range found.Covers() {
		made, err := m.make(ctx, job, in, fmt.Sprintf("[0:%d]%s[out]", c.Index, coverFilters), c.Width*c.Height, 0)
		if err != nil || made.Width > 0 {
			made.Kind = video.Cover
			return made, err
		}
	}
	made, err := m.make(ctx, job, in, fmt.Sprintf("[0:%d]%s[out]", track.Index, waveFilters(length)), width*height, length)
	if err == nil && made.Width == 0 {
		err = video.Failf(video.Corrupt, "The file is damaged: its sound could not be decoded.")
	}
	made.Kind = video.Waveform
	return made, err
}

// coverFilters make a plain picture of a cover. What is transparent becomes black.
var coverFilters = fmt.Sprintf("scale=w='min(%[1]d,iw)':h='min(%[1]d,ih)':force_original_aspect_ratio=decrease:flags=bicubic,"+
	"format=rgba,premultiply=inplace=1,format=rgb24,setsar=1", maxSide)

// waveFrames is of how many frames of sound a waveform is drawn. The filter keeps all of them in memory, so of a long
// file it gets some frames of every column, and not all.
const (
	waveFrames  = 16 * width
	frameLength = 1024 // samples
	waveRate    = 48_000

	waveColour, groundColour = "0x7dd3fc", "0x111827"
)

// waveFilters draw the waveform of a track over a line in its middle, which is all of silence. Quiet sound is drawn
// larger than it is.
func waveFilters(length time.Duration) string {
	every := max(1, int(length.Seconds()*waveRate/frameLength/waveFrames))
	wave := fmt.Sprintf("aresample=%d,aformat=sample_fmts=s16:channel_layouts=mono,asetnsamples=n=%d,aselect='not(mod(n,%d))',"+
		"showwavespic=s=%dx%d:colors=%s:scale=sqrt,setpts=0[wave]", waveRate, frameLength, every, width, height, waveColour)
	ground := fmt.Sprintf("color=c=%s:s=%dx%d:r=1:d=1,format=rgb24[ground];color=c=%s:s=%[2]dx2:r=1:d=1,format=rgb24[line];"+
		"[ground][line]overlay=y=%[5]d:format=rgb[base]", groundColour, width, height, waveColour, height/2-1)
	return wave + ";" + ground + ";[base][wave]overlay=format=rgb,format=rgb24,setsar=1"
}

// make has ffmpeg make one picture. Without one and without an error, nothing could be decoded.
func (m *Maker) make(ctx context.Context, job ffmpeg.Job, in video.Input, graph string, pixels int, length time.Duration) (Picture, error) {
	info, err := os.Stat(job.Source)
	if err != nil {
		return Picture{}, err
	}
	if err := os.Remove(Path(job)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Picture{}, err
	}
	const slowBytes = 4 << 20 // that are read in a second
	limit := minWall + 2*length + time.Duration(info.Size()/slowBytes)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ffmpeg.ErrTimeLimit)
	defer cancel()
	job.Patience = limit // nothing is written before the end of the sound
	may := sandbox.Policy{
		Read: []string{job.Source}, WriteDir: job.OutDir, Memory: baseMemory + bytesPerPixel*int64(pixels),
		FileSize: maxFile, Space: 2 * maxFile, Files: 8, CPU: limit, Threads: ffmpeg.MaxThreads(1),
	}
	stderr, err := m.run.Encode(ctx, job, may, args(job, in, graph), func(float64) {})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil && !tooMuch(ours) {
		return Picture{}, fmt.Errorf("make a picture of a file with sound alone: %w", ours)
	}
	return check(Path(job))
}

// tooMuch reports whether a run has reached a limit, as hostile covers do.
func tooMuch(err error) bool {
	return slices.ContainsFunc([]error{ffmpeg.ErrMemory, ffmpeg.ErrTooBig, ffmpeg.ErrThreads, ffmpeg.ErrCrashed},
		func(limit error) bool { return errors.Is(err, limit) })
}

func args(job ffmpeg.Job, in video.Input, graph string) []string {
	return slices.Concat(ffmpeg.CommonArgs(job, in, video.NoSeek, 1), []string{
		"-filter_complex", graph, "-map", "[out]", "-frames:v", "1", "-fps_mode", "passthrough", "-c:v", "png", "-flags", "+bitexact",
	}, ffmpeg.NoMetadata, []string{"-f", "image2", "-update", "1", "file:" + name})
}

// check returns the size of a picture that ffmpeg may have made, or nothing if it is not one.
func check(path string) (Picture, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Picture{}, nil
	}
	if err != nil {
		return Picture{}, err
	}
	defer f.Close()
	c, err := png.DecodeConfig(f)
	if err != nil || max(c.Width, c.Height) > maxSide || min(c.Width, c.Height) < 1 {
		return Picture{}, nil
	}
	return Picture{Width: c.Width, Height: c.Height}, nil
}
