// Package media looks into video files and transcodes them: it runs ffprobe and
// ffmpeg as child processes on local files. It knows paths of this machine
// only: no URL, no object store, no database. What to do (ladder, chunks,
// arguments) is decided by pure functions; Tools does it.
package media

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// Errors that a worker tells apart. Each may be the machine's fault as well as
// the file's, so none of them is a *video.Failure: whoever runs the task counts
// them and decides when to give up.
var (
	// ErrStalled means that a run was killed because nothing had moved for
	// Config.StallTimeout.
	ErrStalled = errors.New("no progress for too long")
	// ErrTimeLimit means that a run took longer than a file of its size may.
	ErrTimeLimit = errors.New("time limit reached")
	// ErrMemory means that a run needed more memory than it was given.
	ErrMemory = errors.New("memory limit reached")
	// ErrTooBig means that a run wrote more than its film can need.
	ErrTooBig = errors.New("output limit reached")
	// ErrCrashed means that ffmpeg itself crashed.
	ErrCrashed = errors.New("ffmpeg crashed")
	// ErrKilled means that somebody else killed ffmpeg: mostly the kernel, when
	// memory ran out on the whole machine.
	ErrKilled = errors.New("ffmpeg was killed")
	// ErrSandbox means that the sandbox could not be built: the machine's fault.
	ErrSandbox = errors.New("sandbox could not be built")
	// ErrHole means that a source with holes gave anything but a flawless result.
	// Nobody knows whether the file or a hole is to blame: the task is to be done
	// again with the whole file.
	ErrHole = errors.New("the part of the source that was read does not do")
	// ErrNoSound means that the sound track holds nothing that could be
	// decoded. The film is whole without it.
	ErrNoSound = errors.New("no sound could be decoded")
)

// Config says which programs to run, and how.
type Config struct {
	FFmpeg       string           // name or path; default "ffmpeg"
	FFprobe      string           // name or path; default "ffprobe"
	Threads      int              // of the decoder and of each encoder; 0 lets ffmpeg choose
	StallTimeout time.Duration    // default one minute
	Sandbox      *sandbox.Sandbox // around every child; nil means none

	Codec       video.Codec   // default H264
	Quality     video.Quality // default Balanced
	Accelerator Accelerator   // default Software
	Log         *slog.Logger  // is told which encoder is used, and why another one is not; nil means nobody
}

// Tools runs ffprobe and ffmpeg. It is safe for concurrent use.
type Tools struct {
	ffmpeg, ffprobe string
	version         string
	threads         int
	sandbox         *sandbox.Sandbox
	stall           time.Duration
	cut             cutting
	read            reading
	quality         video.Quality
	encoder         encoder // of the codec in use
	log             *slog.Logger
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

	// Holes says that Source has no more than the bytes that the plan says are
	// needed. A run that is not flawless is ErrHole then.
	Holes bool

	// Ran is told about every child process that has ended. It may be nil.
	Ran func(video.Execution)
}

// Output is a file that a run made.
type Output struct {
	Path      string
	Rendition int // index in Plan.Renditions
	Thumbnail int // index in Plan.Thumbnails
	Frames    int
	Size      int64
}

// Progress is told how much of a run is done, from 0 to 1. It is called from
// one goroutine and never after the run returned. It may be nil.
type Progress func(done float64)

func (p Progress) report(done float64) {
	if p != nil {
		p(min(max(done, 0), 1))
	}
}

// New finds the programs and makes sure that they can do the work.
func New(ctx context.Context, cfg Config) (*Tools, error) {
	t := &Tools{
		threads: cfg.Threads, stall: cfg.StallTimeout, cut: defaultCutting, read: defaultReading, sandbox: cfg.Sandbox,
		quality: cmp.Or(cfg.Quality, video.Balanced), log: cfg.Log,
	}
	if t.sandbox == nil {
		t.sandbox = new(sandbox.Sandbox)
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.stall <= 0 {
		t.stall = time.Minute
	}
	var err error
	if t.ffmpeg, err = find(cfg.FFmpeg, "ffmpeg"); err != nil {
		return nil, err
	}
	if t.ffprobe, err = find(cfg.FFprobe, "ffprobe"); err != nil {
		return nil, err
	}
	if t.version, err = t.selfTest(ctx); err != nil {
		return nil, err
	}
	if t.encoder, err = t.choose(ctx, cmp.Or(cfg.Codec, video.H264), cmp.Or(cfg.Accelerator, Software)); err != nil {
		return nil, err
	}
	return t, nil
}

// Version returns what ffmpeg calls its version, such as "5.1.9-0+deb12u1".
func (t *Tools) Version() string { return t.version }

func find(configured, name string) (string, error) {
	if configured == "" {
		configured = name
	}
	path, err := exec.LookPath(configured)
	if err != nil {
		return "", fmt.Errorf("%s is needed to read videos and was not found: install the ffmpeg package (version 5.1 or newer), or configure the path of %s: %w", name, name, err)
	}
	return path, nil
}

// selfTest runs ffmpeg once: it prints its version to one channel and the list
// of encoders to the other.
func (t *Tools) selfTest(ctx context.Context) (version string, err error) {
	var encoders []byte
	banner, err := t.run(ctx, process{
		bin: t.ffmpeg, args: []string{"-encoders"},
		stdout: readAll(&encoders),
	})
	if err != nil {
		return "", fmt.Errorf("run %s: %w", t.ffmpeg, err)
	}
	for _, name := range []string{"libx264", "aac", "mjpeg"} {
		if !bytes.Contains(encoders, []byte(" "+name+" ")) {
			return "", fmt.Errorf("%s has no %s encoder: install a complete build of ffmpeg (Debian's and Ubuntu's package ffmpeg is one)", t.ffmpeg, name)
		}
	}
	words := strings.Fields(banner)
	if len(words) < 3 || words[1] != "version" {
		return "", fmt.Errorf("%s does not print its version: is it ffmpeg?", t.ffmpeg)
	}
	return words[2], nil
}
