package probe

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// Config says for which sources it is noted where their packets are, so that a
// task can read a part of the file only.
type Config struct {
	MinSize int64 // smaller files are read whole; default 64 MiB
	Grain   int64 // resolution in bytes of the packets' positions, which cost memory; default 256 KiB
}

// Prober looks into files with ffprobe. It is safe for concurrent use.
type Prober struct {
	run *ffmpeg.Runner
	cfg Config
}

// New returns a prober that runs its children with run.
func New(run *ffmpeg.Runner, cfg Config) *Prober {
	return &Prober{run: run, cfg: Config{MinSize: cmp.Or(cfg.MinSize, 64<<20), Grain: cmp.Or(cfg.Grain, 256<<10)}}
}

// maxProbes is how often a file is looked at: each time but the last may bring up
// the name of a decoder that must not run.
const maxProbes = 4

// probe asks ffprobe, in one run, for the streams and for the time and kind of
// every packet. Nothing is decoded but what it takes to know the formats.
//
// A file in which one stream of several has a decoder that may not run takes a
// second run, in which that stream is left alone. See also probeVideoOnly.
func (t *Prober) Probe(ctx context.Context, job ffmpeg.Job) (*Result, error) {
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

	var refused []string
	for range maxProbes {
		found := NewResult()
		found.grain = t.cfg.Grain
		found.refused = refused
		var stderr string
		stderr, err = t.run.Probe(ctx, job, probePolicy(job, limit), probeArgs(job.Source, refused), found.Read)
		if err == nil {
			return found, errors.Join(t.probeVideoOnly(ctx, job, found, limit), t.probeDolby(ctx, job, found, limit), t.readIndex(ctx, job, found, size, limit))
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

// sizeOf makes sure that the source is there and can be opened: without it,
// trouble of ours would look like trouble with the film.
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
