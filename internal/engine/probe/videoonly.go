package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// probeVideoOnly reads the packets of the pictures once more, without the others, of
// an MP4 that is cut off. ffprobe stops at the first packet that is missing, of
// whatever stream, and jumps between streams that do not lie side by side: where
// the sound of each fragment follows its pictures, there are more of these.
func (t *Prober) probeVideoOnly(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) error {
	if len(found.Streams) < 2 || !strings.HasPrefix(found.Format.Name, "mov,") || !found.EndsEarly() {
		return nil
	}
	alone := NewResult()
	alone.grain = found.grain
	args := slices.Concat([]string{"-select_streams", "v"}, probeArgs(job.Source, found.refused))
	stderr, err := t.run.Probe(ctx, job, probePolicy(job, limit), args, alone.Read)
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return fmt.Errorf("probe the pictures alone: %w", ours)
	}
	for stream, line := range alone.Timelines {
		if known := found.Timelines[stream]; known == nil || known.Packets < line.Packets {
			found.Timelines[stream] = line
		}
	}
	return nil
}
