package plan

import (
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	maxPosterWidth = 1280
	// fadeStep is after what time a frame is compared with another one: in a fade, all of the
	// picture has changed its brightness by then.
	fadeStep = 120 * time.Millisecond
)

// posterPlaces are the parts of the video where a frame for the poster is looked for, the most
// telling ones first. Videos begin and end with black, titles and credits.
var posterPlaces = []float64{0.3, 0.5, 0.15, 0.7, 0.4, 0.85}

// fewKeys is of how few keyframes no choice can be made: the rest of the frames are then decoded from
// the beginning of the video, which costs more the later they are.
const fewKeys = 2

// earlySteps is how many of the leadSteps are tried in any case.
const earlySteps = 2

// maxDecoded is how many pixels may be decoded for one of the late frames, by one thread: ten seconds of 1080p at 60
// frames a second.
const maxDecoded = 1920 * 1080 * 600

// leadSteps are the frames that are looked at then: after a part of the video, or after a time if that is
// earlier. The first one is cheap and mostly good. Those after the early ones are for videos that begin with a fade.
var leadSteps = []struct {
	part float64
	time time.Duration
}{{0.125, time.Second}, {0.25, 2500 * time.Millisecond}, {0.5, 5 * time.Second}, {0.75, 10 * time.Second}}

// poster chooses the frames of which one becomes the poster. Decoding is most of the cost, so these
// are keyframes, or not far from the beginning.
func poster(p *video.Plan, width, height float64, line *probe.Timeline, reliable bool) *video.Poster {
	scale := min(1, maxPosterWidth/width)
	out := &video.Poster{Width: min(roundEven(width*scale), maxPosterWidth), Height: roundEven(height * scale)}
	tb := p.Input.TimeBase
	add := func(pts, seek int64) {
		if slices.ContainsFunc(out.Frames, func(f video.PosterFrame) bool { return f.PTS == pts }) {
			return
		}
		next := line.ShownAt(pts + int64(math.Ceil(tb.Ticks(fadeStep.Seconds()))))
		out.Frames = append(out.Frames, video.PosterFrame{PTS: pts, Next: next, Seek: seek})
	}
	if ffmpeg.HasTimestamps(p.Input) && !line.Untimed {
		for _, part := range posterPlaces {
			if key, ok := nearestKey(line, line.First+int64(part*float64(line.Last-line.First))); ok {
				seek := key
				if !reliable {
					seek = line.SeekTo(key, 1) // seeking may land behind the keyframe aimed at
				}
				add(key, seek)
			}
		}
	}
	if len(out.Frames) < fewKeys {
		for i, s := range leadSteps {
			after := min(s.part*tb.Seconds(line.Last-line.First), s.time.Seconds())
			if i >= earlySteps && width*height*p.Input.FrameRate*after > maxDecoded {
				break
			}
			add(line.ShownAt(line.First+int64(tb.Ticks(after))), line.Opening(backUnless(reliable)))
		}
	}
	add(line.First, line.Opening(backUnless(reliable)))
	return out
}

// nearestKey returns the keyframe that is closest to a time. The first one is left out: decoding
// begins there anyway.
func nearestKey(line *probe.Timeline, target int64) (best int64, ok bool) {
	for _, k := range line.Keys {
		_, shown := slices.BinarySearch(line.Shown, k.PTS)
		if shown && k.PTS > line.First && (!ok || abs(k.PTS-target) < abs(best-target)) {
			best, ok = k.PTS, true
		}
	}
	return best, ok
}
