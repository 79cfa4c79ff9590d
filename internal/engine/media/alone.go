package media

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// probeAlone reads the packets of the pictures once more, without the others, of
// an MP4 that is cut off. ffprobe stops at the first packet that is missing, of
// whatever stream, and jumps between streams that do not lie side by side: where
// the sound of each fragment follows its pictures, there are more of these.
func (t *Tools) probeAlone(ctx context.Context, job Job, found *findings, limit time.Duration) error {
	if len(found.streams) < 2 || !strings.HasPrefix(found.format.Name, "mov,") || !found.endsEarly() {
		return nil
	}
	alone := newFindings()
	alone.grain = found.grain
	stderr, err := t.run(ctx, process{
		bin: t.ffprobe, args: slices.Concat([]string{"-select_streams", "v"}, probeArgs(job.Source, found.refused)),
		dir: job.OutDir, job: job, policy: mayProbe(job, limit), stdout: alone.read,
	})
	if ours := troubleOfOurs(err, stderr); ours != nil {
		return fmt.Errorf("probe the pictures alone: %w", ours)
	}
	for stream, line := range alone.timelines {
		if known := found.timelines[stream]; known == nil || known.packets < line.packets {
			found.timelines[stream] = line
		}
	}
	return nil
}
