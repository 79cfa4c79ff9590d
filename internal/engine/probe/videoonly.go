package probe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// probeVideoOnly reads the video packets of a truncated MP4 once more, without
// the other streams. ffprobe stops at the first missing packet of any stream,
// and jumps between streams that are not interleaved: where the audio of a
// fragment follows its video, more video is there than the first run found.
func (p *Prober) probeVideoOnly(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) error {
	if len(found.Streams) < 2 || !found.isMP4() || !found.CutOff && !found.EndsEarly() {
		return nil
	}
	alone := NewResult()
	alone.grain, alone.maxPackets = found.grain, found.maxPackets
	args := slices.Concat(found.editOptions(), []string{"-select_streams", "v"}, probeArgs(job.Source, found.refused, job.Sound))
	stderr, err := p.run.Probe(ctx, job, probePolicy(job, limit), args, alone.Read)
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return fmt.Errorf("probe the video stream alone: %w", ours)
	}
	for stream, line := range alone.Timelines {
		if known := found.Timelines[stream]; known == nil || known.Packets < line.Packets {
			found.Timelines[stream] = line
		}
	}
	return nil
}
