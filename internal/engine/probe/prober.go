// Package probe looks into an uploaded file. Sniff and Admit judge its first
// bytes while it is uploaded. Prober asks ffprobe for the streams and for the
// time, kind and position of every packet, in one run that decodes nothing but
// what it takes to know the formats. A second run reads the video stream alone
// where a file is truncated (video-only probe), others the Dolby Vision metadata
// of the first frame, or a file whose times make no sense with other options; and
// the headers of its parts are read up to its end, to see whether it is cut off.
//
// The Result is data: which stream is the video, when its frames are shown
// (Timeline), and where the packets are in the file (Layout, and Index for what
// is not packets). With positions, a task on a large file can fetch only the
// parts that it reads: a sparse source. What to make of the file is decided in
// package plan.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// Config says for which sources the positions of packets are recorded, so that a task
// can read a part of the file only.
type Config struct {
	MinSize int64 // smaller files are read whole; default 64 MiB
	Grain   int64 // resolution in bytes of the packets' positions, which cost memory; default 256 KiB
}

// Prober looks into files with ffprobe. It is safe for concurrent use.
type Prober struct {
	run *ffmpeg.Runner
	cfg Config
}

// New returns a prober whose child processes are run by run.
func New(run *ffmpeg.Runner, cfg Config) *Prober {
	return &Prober{run: run, cfg: Config{MinSize: cmp.Or(cfg.MinSize, 64<<20), Grain: cmp.Or(cfg.Grain, 256<<10)}}
}

// Runner returns what runs ffprobe for it.
func (p *Prober) Runner() *ffmpeg.Runner { return p.run }

// maxProbes is how often a file is probed: each run but the last may name
// decoders that are not allowed.
const maxProbes = 4

// Probe asks ffprobe, in one run, for the streams and for the time and kind of
// every packet. Nothing is decoded but what it takes to know the formats.
//
// If one of several streams has a decoder that is not allowed, ffprobe runs
// again and that stream is left out. See also probeVideoOnly.
func (p *Prober) Probe(ctx context.Context, job ffmpeg.Job) (*Result, error) {
	return p.probe(ctx, job, p.complete)
}

// ProbeSound is Probe for what is needed to make a sound track of a file, which may hold sound alone.
func (p *Prober) ProbeSound(ctx context.Context, job ffmpeg.Job) (*Result, error) {
	return p.probe(ctx, job, func(context.Context, ffmpeg.Job, *Result, int64, time.Duration) error { return nil })
}

func (p *Prober) probe(ctx context.Context, job ffmpeg.Job, complete func(context.Context, ffmpeg.Job, *Result, int64, time.Duration) error) (*Result, error) {
	size, err := sizeOf(job.Source)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, video.Failf(video.UploadEmpty, "The file is empty.")
	}
	// The whole file is read once; 16 MiB a second is a slow disk.
	limit := 30*time.Second + time.Duration(size>>24)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, maxProbes*limit, ffmpeg.ErrTimeLimit)
	defer cancel()
	sound, err := beginsAsSound(job.Source)
	if err != nil {
		return nil, err
	}

	var refused []string
	for range maxProbes {
		found := p.newResult(refused, mostPackets(size, sound))
		var stderr string
		stderr, err = p.run.Probe(ctx, job, probePolicy(job, limit), probeArgs(job.Source, refused, sound), found.Read)
		if err == nil && found.misreadOverflow() {
			found, err = p.probeRawClock(ctx, job, found, limit)
		}
		if err == nil && found.editedAway() {
			found, err = p.probeEditStarts(ctx, job, found, limit)
		}
		if err == nil {
			return found, complete(ctx, job, found, size, limit)
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

// complete adds what the first run of ffprobe does not tell. The end of the file is read first: whether it is cut
// off decides whether the video stream is read alone.
func (p *Prober) complete(ctx context.Context, job ffmpeg.Job, found *Result, size int64, limit time.Duration) error {
	end := found.readEnd(ctx, job.Source, size)
	return errors.Join(end, p.probeVideoOnly(ctx, job, found, limit), p.probeFrame(ctx, job, found, limit), found.readX264(job.Source), p.readIndex(ctx, job, found, size, limit))
}

// probeAgain runs ffprobe once more on a file, with more options of the input. If that finds out nothing, it
// returns what was found before.
func (p *Prober) probeAgain(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration, options []string) (*Result, error) {
	again := p.newResult(found.refused, found.maxPackets)
	stderr, err := p.run.Probe(ctx, job, probePolicy(job, limit), slices.Concat(options, probeArgs(job.Source, found.refused, job.Sound)), again.Read)
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return nil, fmt.Errorf("probe with %s: %w", strings.Join(options, " "), ours)
	}
	if err != nil {
		return found, nil
	}
	return again, nil
}

func (p *Prober) newResult(refused []string, maxPackets int) *Result {
	r := NewResult()
	r.grain, r.refused, r.maxPackets = p.cfg.Grain, refused, maxPackets
	return r
}

// sizeOf makes sure that the source can be opened: without it, an error of ours
// would look like a problem of the file.
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
