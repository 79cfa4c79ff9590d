package probe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// dolbyOnly reports whether a stream is Dolby Vision without a compatible base
// layer. Decoded as an ordinary stream, it would be green and purple.
func dolbyOnly(s Stream) bool {
	return slices.ContainsFunc(s.SideData, func(d SideData) bool {
		return d.Type == "DOVI configuration record" && (d.Profile == 5 || d.Profile == 10) && d.Compatibility != nil && *d.Compatibility == 0
	})
}

// probeFrame reads what only a frame tells: how the frames of a Dolby Vision source were reshaped, and how bright HDR
// is. It asks the first one. Later scenes may be reshaped slightly differently; that is ignored, because it shows as a
// slight shift of colours at most.
func (p *Prober) probeFrame(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) error {
	stream, err := found.Video()
	if err != nil {
		return nil // the plan reports the same error
	}
	dolby := dolbyOnly(stream)
	if !dolby && stream.ColorTransfer != "smpte2084" && stream.ColorTransfer != "arib-std-b67" {
		return nil
	}
	args := slices.Concat([]string{"-v", "error", "-hide_banner", "-max_alloc", "268435456"}, ffmpeg.InputArgs(), found.editOptions(), []string{
		"-select_streams", strconv.Itoa(stream.Index), "-read_intervals", "%+#1", "-show_frames", "-of", "json", "-i", ffmpeg.FileURL(job.Source),
	})
	var answer []byte
	stderr, err := p.run.Probe(ctx, job, probePolicy(job, limit), args, ffmpeg.Answer(&answer))
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return fmt.Errorf("probe the first frame: %w", ours)
	}
	if dolby {
		found.Dolby = colour.ParseDolby(answer)
	} else {
		found.Mastering, found.Light = colour.ParseLight(answer)
	}
	return nil
}
