package probe

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// editedAway reports whether the edit list of an MP4 leaves no frame although the file has some: its lengths
// are zero, or are tiny because the movie's time scale is absurd. Players use where an edit begins, and
// play on to the end.
func (f *Result) editedAway() bool {
	streams := f.videoStreams()
	if !strings.HasPrefix(f.Format.Name, "mov,") || !slices.ContainsFunc(streams, func(s Stream) bool { return s.Frames > 0 }) {
		return false
	}
	return !slices.ContainsFunc(streams, func(s Stream) bool {
		line := f.Timelines[s.Index]
		return line != nil && len(line.Shown)+len(line.LeadIn) > 0
	})
}

// probeEditStarts reads a file once more, without the lengths of its edit list.
func (p *Prober) probeEditStarts(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) (*Result, error) {
	again, err := p.probeAgain(ctx, job, found, limit, ffmpeg.EditStarts)
	if again != found && again != nil {
		again.EditStarts = true
	}
	return again, err
}

// editOptions are the options that a file needs because of its edit list.
func (f *Result) editOptions() []string {
	if f.EditStarts {
		return ffmpeg.EditStarts
	}
	return nil
}
