package probe

import (
	"context"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// manyFrames is of how many listed frames an edit list leaves more than one, if it makes sense.
const manyFrames = 10

// editedAway reports whether the edit list of an MP4 leaves no frame although the file has some, or one of many:
// its lengths are zero, or are tiny because the movie's time scale is absurd. Players use where an edit begins,
// and play on to the end.
func (f *Result) editedAway() bool {
	if !strings.HasPrefix(f.Format.Name, "mov,") {
		return false
	}
	listed := false
	for _, s := range f.videoStreams() {
		shown := 0
		if line := f.Timelines[s.Index]; line != nil {
			shown = len(line.Shown) + len(line.LeadIn)
		}
		if shown > 1 || shown == 1 && s.Frames < manyFrames {
			return false
		}
		listed = listed || s.Frames > 0
	}
	return listed
}

// probeEditStarts reads a file once more, without the lengths of its edit list. If that finds no more frames, it
// returns what was found before.
func (p *Prober) probeEditStarts(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) (*Result, error) {
	again, err := p.probeAgain(ctx, job, found, limit, ffmpeg.EditStarts)
	if err != nil {
		return nil, err
	}
	if again == found || again.editedAway() {
		return found, nil
	}
	again.EditStarts = true
	return again, nil
}

// editOptions are the options that a file needs because of its edit list.
func (f *Result) editOptions() []string {
	if f.EditStarts {
		return ffmpeg.EditStarts
	}
	return nil
}
