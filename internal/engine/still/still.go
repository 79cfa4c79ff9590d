// Package still makes single pictures, outside of the work on a video: of a frame of a finished rendition, and of a
// picture that a client sends. Like everything that comes from clients, both are opened in the sandbox alone.
package still

import (
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// nice is the niceness of all runs: people look at pictures beside playback, requests and encodes.
const nice = 19

const (
	// maxWall and maxCPU are how long a run may take. On idle cores it takes less than a second.
	maxWall = 45 * time.Second
	maxCPU  = 20 * time.Second
	// baseMemory is what decoder and filters of small pictures may use, and bytesPerPixel what large ones need beyond.
	baseMemory    = 512 << 20
	bytesPerPixel = 60
)

// Maker makes pictures. It is safe for concurrent use.
type Maker struct{ run *ffmpeg.Runner }

// NewMaker returns a maker whose children stand back for everything else.
func NewMaker(run *ffmpeg.Runner) *Maker { return &Maker{run.Nicer(nice)} }

// Has reports whether pictures can be made in a format; "" is JPEG.
func (m *Maker) Has(f video.PictureFormat) bool {
	return f == "" || f == video.WebP && m.run.HasEncoder("libwebp")
}

// Shot says how a frame of a film becomes a picture.
type Shot struct {
	At            int64 // when the frame is shown, in ticks of the film
	Width, Height int   // to which the frame is scaled
	// Crop is the size of its middle part that is kept; 0 × 0: all of it.
	CropWidth, CropHeight int
	Format                video.PictureFormat // "": JPEG
}

// qualities have the encoder of each format, with about as much detail as a rendition has.
var qualities = map[video.PictureFormat][]string{
	"":         {"-c:v", "mjpeg", "-q:v", "4"},
	video.WebP: {"-c:v", "libwebp", "-compression_level", "3", "-q:v", "82"},
	markFormat: {"-c:v", "png"},
}

// Frame makes a picture of one frame of the film job.Source, which has so many pixels in a frame. It returns the path of
// the picture, in job.OutDir.
func (m *Maker) Frame(ctx context.Context, job ffmpeg.Job, pixels int, s Shot) (string, error) {
	path := filepath.Join(job.OutDir, outputName(s.Format))
	if err := m.encode(ctx, job, policy(job, pixels), frameArgs(job, s)); err != nil {
		return "", fmt.Errorf("make a picture of a frame: %w", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return "", errors.Join(errors.New("no picture of the frame was made"), err)
	}
	return path, nil
}

func outputName(f video.PictureFormat) string {
	if f == "" {
		return "still.jpg"
	}
	return "still." + string(f)
}

func frameArgs(job ffmpeg.Job, s Shot) []string {
	colours := ":out_range=pc:out_color_matrix=bt601,format=yuvj420p"
	if s.Format == video.WebP { // it has no other colours
		colours = ":out_range=tv:out_color_matrix=bt601,format=yuv420p"
	}
	filters := fmt.Sprintf("select='gte(pts,%d)',scale=%d:%d:flags=bicubic%s", s.At, s.Width, s.Height, colours)
	if s.CropWidth > 0 {
		filters += fmt.Sprintf(",crop=%d:%d:exact=1", s.CropWidth, s.CropHeight)
	}
	args := slices.Concat(ffmpeg.RunArgs(), []string{"-copyts"}, ffmpeg.RenditionInput, []string{
		"-i", ffmpeg.FileURL(job.Source), "-map", "0:v:0", "-vf", filters + ",setsar=1", "-frames:v", "1", "-fps_mode", "passthrough",
	})
	return append(args, output(s.Format)...)
}

// output are the options of the one file that a run writes.
func output(f video.PictureFormat) []string {
	return slices.Concat(qualities[f], []string{"-flags", "+bitexact"}, ffmpeg.NoMetadata, []string{"-f", "image2", "-update", "1", "file:" + outputName(f)})
}

// policy allows a run to read its source and to write one picture.
func policy(job ffmpeg.Job, pixels int) sandbox.Policy {
	const maxOutput = 32 << 20
	return sandbox.Policy{
		Read: []string{job.Source}, WriteDir: job.OutDir, Memory: baseMemory + bytesPerPixel*int64(pixels),
		FileSize: maxOutput, Space: 2 * maxOutput, Files: 4, CPU: maxCPU, Threads: ffmpeg.MaxThreads(1),
	}
}

// encode runs ffmpeg. It returns errors of the machine, and limits that were reached; see refused.
func (m *Maker) encode(ctx context.Context, job ffmpeg.Job, may sandbox.Policy, args []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxWall, ffmpeg.ErrTimeLimit)
	defer cancel()
	job.Yield = 1
	stderr, err := m.run.Encode(ctx, job, may, args, func(float64) {})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return ours
	}
	if err != nil {
		return &failedError{err, stderr}
	}
	return nil
}

// failedError is a run that ended by itself without a picture.
type failedError struct {
	err    error
	stderr string
}

func (e *failedError) Error() string { return e.err.Error() }
func (e *failedError) Unwrap() error { return e.err }

// sizeOf returns the size of a JPEG or PNG.
func sizeOf(path string) (width, height int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(f)
	return c.Width, c.Height, err
}
