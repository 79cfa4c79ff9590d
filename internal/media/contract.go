// Package media looks into video files and transcodes them: it runs ffprobe and
// ffmpeg as child processes on local files. It knows paths of this machine
// only: no URL, no object store, no database. What to do (ladder, chunks,
// arguments) is decided by pure functions; Tools does it.
package media

import (
	"context"

	"github.com/spool-video/spool/internal/video"
)

// Tools runs ffprobe and ffmpeg.
type Tools struct { /* … */
}

// Ask is what a client wants from a file.
type Ask struct {
	Names      []video.Name
	Thumbnails []float64
	Upscale    bool
}

// Job is where one run works: it reads Source and writes below OutDir only.
type Job struct {
	Source string // the uploaded file, under a name of ours
	OutDir string // an empty folder of the task's own
}

// Output is a file that a run made.
type Output struct {
	Path      string
	Rendition int // index in Plan.Renditions
	Thumbnail int // index in Plan.Thumbnails
	Frames    int
	Size      int64
}

// Progress is told how much of a run is done, from 0 to 1.
type Progress func(done float64)

// Inspect probes the file and makes the plan. A file that can never be
// transcoded is a *video.Failure; other errors may pass.
func (t *Tools) Inspect(ctx context.Context, job Job, ask Ask) (*video.Plan, error) { panic("todo") }

// EncodeChunk encodes chunk n at every rendition with one decode.
func (t *Tools) EncodeChunk(ctx context.Context, job Job, p *video.Plan, n int, progress Progress) ([]Output, error) {
	panic("todo")
}

// EncodeAudio encodes the sound of the whole film.
func (t *Tools) EncodeAudio(ctx context.Context, job Job, p *video.Plan, progress Progress) (Output, error) {
	panic("todo")
}

// Thumbnails makes the still pictures, one for each thumbnail and rendition.
// A picture that cannot be made is left out.
func (t *Tools) Thumbnails(ctx context.Context, job Job, p *video.Plan, progress Progress) ([]Output, error) {
	panic("todo")
}

// Sniff reports which video container the first bytes of a file announce, or
// "" when they announce none.
func Sniff(head []byte) string { panic("todo") }

// SniffSize is how many bytes Sniff wants to see.
const SniffSize = 8 << 10
