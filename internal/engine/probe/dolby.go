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

// onlyDolby reports whether a stream is Dolby Vision without an ordinary picture
// underneath. Taken for one, it would be green and purple.
func dolbyOnly(s Stream) bool {
	return slices.ContainsFunc(s.SideData, func(d SideData) bool {
		return d.Type == "DOVI configuration record" && (d.Profile == 5 || d.Profile == 10) && d.Compatibility != nil && *d.Compatibility == 0
	})
}

// probeDolby reads from the first frame how the pictures of a Dolby Vision film
// were reshaped. Later scenes may be reshaped a little differently, which is
// left out of account: it shows as a slight shift of colours at most.
func (t *Prober) probeDolby(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) error {
	film, err := found.Video()
	if err != nil || !dolbyOnly(film) {
		return nil // whoever makes the plan will find the same error
	}
	args := slices.Concat([]string{"-v", "error", "-hide_banner", "-max_alloc", "268435456"}, ffmpeg.InputArgs(), []string{
		"-select_streams", strconv.Itoa(film.Index), "-read_intervals", "%+#1", "-show_frames", "-of", "json", "-i", ffmpeg.FileURL(job.Source),
	})
	var answer []byte
	stderr, err := t.run.Probe(ctx, job, probePolicy(job, limit), args, ffmpeg.ReadAll(&answer))
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return fmt.Errorf("probe Dolby Vision: %w", ours)
	}
	found.Dolby = colour.ParseDolby(answer)
	return nil
}
