package plan

import (
	"slices"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// leastTrialWork is how many pixels all outputs of a video must have together
	// for a trial to be worth it: two seconds of processor time. To start ffmpeg for
	// less would cost more than it decides.
	leastTrialWork = 160e6
	// A trial takes one frame of every trialShare, in groups of trialGroup or more:
	// shorter ones say little about motion. More than video.MaxTrialFrames in each of
	// maxTrials groups say nothing new.
	trialShare = 40
	trialGroup = 6
	earlyGroup = 4 // for a film that can be played while it is encoded
	maxTrials  = 4
	// largeFrame is how many pixels the source may have for so many frames. Larger
	// ones take longer to decode, and the trial delays the video.
	largeFrame = 2560 * 1440
	// maxLead is how many seconds of a film may be decoded to get to a group.
	maxLead = 10
)

// trials chooses the frames that are encoded before everything else, to see how the
// picture of a video compresses. Groups of them are spread over the video, away from
// its ends, where there is often nothing but a title, and begin at keyframes of the
// source, so that nothing else has to be decoded.
func trials(p *video.Plan, line *probe.Timeline, reliable bool) []video.Chunk {
	frames := len(line.Shown)
	if line.Untimed || !ffmpeg.HasTimestamps(p.Input) || len(p.Jumps) > 0 { // frames cannot be found by their times
		return nil
	}
	if p.Input.FrameRate <= 0 || float64(frames)*pixelRate(p)/p.Input.FrameRate < leastTrialWork {
		return nil
	}
	groups := min(max(frames/trialShare/trialGroup, 2), maxTrials)
	each := min(max(frames/trialShare/groups, trialGroup), video.MaxTrialFrames)
	switch {
	case p.Early != nil:
		each = earlyGroup
	case p.Input.CodedWidth*p.Input.CodedHeight > largeFrame:
		each = trialGroup
	}
	keys := []int64{line.First}
	for _, k := range line.Keys {
		keys = append(keys, max(k.PTS, line.First))
	}
	var out []video.Chunk
	for n := range groups {
		target := line.First + (line.Last-line.First)/int64(2*groups)*int64(2*n+1)
		c, ok := trialAt(line, nearest(keys, target), each, reliable)
		if ok && (len(out) == 0 || c.Start >= out[len(out)-1].End) && p.Input.TimeBase.Seconds(decodedBefore(c, line)) <= maxLead {
			out = append(out, c)
		}
	}
	return out
}

// trialAt returns the group of frames that begins at a keyframe, unless too little is left.
func trialAt(line *probe.Timeline, key int64, frames int, reliable bool) (c video.Chunk, ok bool) {
	first, _ := slices.BinarySearch(line.Shown, key)
	if first+frames >= len(line.Shown) {
		return c, false
	}
	c = video.Chunk{Start: line.Shown[first], End: line.Shown[first+frames], Seek: key}
	switch {
	case key == line.First:
		c.Seek = line.Opening(backUnless(reliable))
	case !reliable:
		c.Seek = line.SeekTo(key, 1) // seeking may land behind the keyframe aimed at
	}
	return c, true
}

// decodedBefore returns how much of a film is decoded before a group begins.
func decodedBefore(c video.Chunk, line *probe.Timeline) int64 {
	if c.Seek == video.NoSeek {
		return c.Start - line.Origin()
	}
	return c.Start - c.Seek
}

// nearest returns the time of a list that is closest to target.
func nearest(all []int64, target int64) int64 {
	return slices.MinFunc(all, func(a, b int64) int { return int(min(max(abs(a-target)-abs(b-target), -1), 1)) })
}
