package encode

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// Limits of how long a task may run. The watchdog ends a run that reports nothing,
// but a compromised ffmpeg may report any progress, so progress alone never extends
// the deadline. The figures are for a slow machine with far too much to do.
const (
	minWall = 15 * time.Minute // of every task
	// slowPixels is how many pixels are decoded, filtered or encoded in a second.
	// A core of a usual machine does some 20 million.
	slowPixels = 500_000
	// slowBytes is how many bytes of a source are read in a second.
	slowBytes = 4 << 20
)

// withDeadline ends ctx when a task has taken too long: more than the time that
// its work may take, and some that every task has.
func (enc *Encoder) withDeadline(ctx context.Context, work time.Duration) (context.Context, context.CancelFunc) {
	limit := cmp.Or(enc.minWall, minWall) + work
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %v", ffmpeg.ErrTimeLimit, limit.Round(time.Second)))
}

// videoTime is how long it may take to decode so much of a video and to encode
// every rendition of it.
func videoTime(p *video.Plan, length time.Duration) time.Duration {
	const unknownRate, highestRate = 60, 1000
	rate := p.Input.FrameRate
	if rate <= 0 || rate > highestRate {
		rate = unknownRate
	}
	pixels := float64(p.Input.CodedWidth) * float64(p.Input.CodedHeight)
	for _, r := range p.Renditions {
		pixels += float64(r.Width) * float64(r.Height)
	}
	return seconds(pixels * rate * length.Seconds() / slowPixels)
}

// chunkTime is how long chunk n may take with x264. Decoding begins before it.
func chunkTime(p *video.Plan, n int) time.Duration {
	return videoTime(p, p.Length(n)+leadTime(p, n))
}

// leadTime is how much of the source is decoded before chunk n begins.
func leadTime(p *video.Plan, n int) time.Duration {
	c := p.Chunks[n]
	from := c.Seek
	if from == video.NoSeek {
		from = p.Origin()
	}
	return seconds(p.Input.TimeBase.Seconds(max(c.Start-from, 0)))
}

// patience is how long a run on a part of a source may show no progress, because it decodes from the beginning of the
// source: ffmpeg reports nothing before the first frame of the part.
func patience(p *video.Plan, seek int64) time.Duration {
	if p.Part == nil || seek != video.NoSeek {
		return 0
	}
	return videoTime(p, seconds(p.Input.TimeBase.Seconds(p.FirstPTS-p.Part.Origin)))
}

// audioTime is how long the audio of a whole video may take, whose file has to be
// read from its beginning to its end.
func audioTime(p *video.Plan, source string) time.Duration {
	limit := 2 * p.Duration
	if info, err := os.Stat(source); err == nil {
		limit += seconds(float64(info.Size()) / slowBytes)
	}
	return limit
}

// thumbnailTime is how long all thumbnails may take: the watchdog wants to see
// progress for each, and each batch is tried up to three times.
func thumbnailTime(batches []plan.Batch, stall time.Duration) time.Duration {
	var limit time.Duration
	for _, b := range batches {
		limit += time.Duration(3+len(b.Shots)) * stall
	}
	return limit
}

// measureTime is how long all samples may take. Each is decoded twice and
// compared in two ways.
func measureTime(p *video.Plan) time.Duration {
	const longest = time.Minute // of a sample, also if its end is not known
	var limit time.Duration
	for _, s := range p.Samples {
		length := min(seconds(p.Input.TimeBase.Seconds(max(s.End-s.Start, 0))), longest)
		limit += 4 * videoTime(p, plan.MaxSampleSeek+length)
	}
	return limit
}

// seconds avoids an overflow: a video can claim any length.
func seconds(n float64) time.Duration {
	const most = 30 * 24 * time.Hour
	return time.Duration(min(n, most.Seconds()) * float64(time.Second))
}
