package probe

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
)

// manyFrames is of how many listed frames an edit list leaves more than one, if it makes sense.
const manyFrames = 10

// editedAway reports whether the edit lists of an MP4 leave nothing of a stream although the file has much of it:
// their lengths are zero, or are tiny because the movie's time scale is absurd. Players use where an edit begins,
// and play on to the end.
func (f *Result) editedAway() bool {
	return f.isMP4() && (f.videoEditedAway() || f.audioEditedAway())
}

// videoEditedAway reports whether the edit lists leave no frame, or one of many.
func (f *Result) videoEditedAway() bool {
	listed := false
	for _, s := range f.videoStreams() {
		shown := f.shownFrames(s)
		if shown > 1 || shown == 1 && s.Frames < manyFrames {
			return false
		}
		listed = listed || s.Frames > 0
	}
	return listed
}

// audioEditedAway reports whether the edit lists of a video of many frames leave at most one packet of its audio.
func (f *Result) audioEditedAway() bool {
	many := func(s Stream) bool { return f.shownFrames(s) >= manyFrames }
	return slices.ContainsFunc(f.videoStreams(), many) && slices.ContainsFunc(f.Streams, func(s Stream) bool {
		line := f.Timelines[s.Index]
		return s.Type == "audio" && s.Frames >= manyFrames && (line == nil || line.Packets <= 1)
	})
}

// AudioCutOut reports whether the edit list of an MP4 leaves nothing of an audio track that can be heard.
func (f *Result) AudioCutOut(s Stream) bool {
	line := f.Timelines[s.Index]
	return f.isMP4() && s.Frames > 0 && line != nil && line.First == math.MaxInt64
}

// shownFrames returns how many frames of a video stream are shown.
func (f *Result) shownFrames(s Stream) int {
	line := f.Timelines[s.Index]
	if line == nil {
		return 0
	}
	return len(line.Shown) + len(line.LeadIn)
}

// probeEditStarts reads a file once more, without the lengths of its edit lists. If that finds no more, it returns
// what was found before. So it does if only the audio was edited away, and the lengths make sense for the video:
// they can be ignored for both or for none.
func (p *Prober) probeEditStarts(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) (*Result, error) {
	again, err := p.probeAgain(ctx, job, found, limit, ffmpeg.EditStarts)
	if err != nil {
		return nil, err
	}
	if again == found || !again.restores(found) {
		return found, nil
	}
	again.EditStarts = true
	return again, nil
}

// restores reports whether this result has what the edit lists took from the other one.
func (f *Result) restores(other *Result) bool {
	if other.videoEditedAway() {
		return !f.videoEditedAway()
	}
	return !f.audioEditedAway() && f.showsSameFrames(other)
}

// showsSameFrames reports whether as many frames are shown as the other result says, from the same time on.
func (f *Result) showsSameFrames(other *Result) bool {
	same := func(a, b Stream) bool {
		return f.shownFrames(a) == other.shownFrames(b) && (f.shownFrames(a) == 0 || f.Timelines[a.Index].First == other.Timelines[b.Index].First)
	}
	return slices.EqualFunc(f.videoStreams(), other.videoStreams(), same)
}

// editOptions are the options that a file needs because of its edit list.
func (f *Result) editOptions() []string {
	if f.EditStarts {
		return ffmpeg.EditStarts
	}
	return nil
}
