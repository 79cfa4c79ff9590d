package plan

import (
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// trimSlack is how many seconds a frame may be before the begin or the end of a part and still count as exactly
	// there: clients send times with few digits, and some containers round to milliseconds.
	trimSlack = 0.0005
	// lateEnd is how far behind the end of a file a part may end without a warning. Players disagree by less about how
	// long a file is.
	lateEnd = 100 * time.Millisecond
	// audioLead is from how long before a part its audio is decoded at least: the first packets of a track do not decode
	// to what they would in the middle of it.
	audioLead = time.Second
	// latest is the latest time of a part, in seconds. Absurd times must not overflow.
	latest = 1e8
)

// trim cuts the time line down to the part that was asked for. Chunks, audio, pictures and measurement follow from the
// time line and from its first frame, so little else knows of the part.
func trim(p *video.Plan, found *probe.Result, s probe.Stream, line *probe.Timeline, tracks []probe.Stream, t *video.Trim) error {
	if t == nil {
		return nil
	}
	tb, whole := p.Input.TimeBase, p.Duration.Seconds()
	end := t.End
	if end == 0 {
		end = latest
	}
	at := func(seconds float64) int64 { return line.First + int64(math.Ceil(tb.Ticks(min(seconds, latest)))) }
	if !line.Cut(at(t.Start-trimSlack), at(end-trimSlack), at(end)) {
		return video.Failf(video.NothingLeft, "The part from %s has no frame: the file lasts %s.", t, video.Lasting(whole))
	}
	p.Part = &video.Part{Origin: line.Origin(), Until: line.Until()}
	p.FirstPTS, p.Frames = line.First, len(line.Shown)
	p.Duration = videoDuration(s, line, tb)
	if t.End > 0 {
		length := min(end, latest) - tb.Seconds(line.First-line.Origin())
		p.Part.Length = max(time.Duration(length*float64(time.Second)), time.Millisecond)
		p.Duration = min(p.Duration, p.Part.Length)
	}
	if t.End > whole+lateEnd.Seconds() {
		p.Warnings = append(p.Warnings, video.Warnf(video.BeyondEnd, "The part from %s ends behind the end of the file, which lasts %s; the video ends there.", t, video.Lasting(whole)))
	}
	trimSounds(p, found, s, line, tracks)
	return nil
}

// trimSounds makes the sound tracks anew, for the part: those that play in it.
func trimSounds(p *video.Plan, found *probe.Result, s probe.Stream, line *probe.Timeline, tracks []probe.Stream) {
	var shifts []time.Duration
	if p.Audio != nil {
		shifts = p.Audio.Jumps
	}
	p.Audio, p.Others = nil, nil
	addSounds(found, p, slices.DeleteFunc(slices.Clone(tracks), func(track probe.Stream) bool {
		before, after := found.AudioApart(s, track)
		return (before || after) && len(p.Jumps) == 0
	}), shifts)
	if !line.BeginsLate() || line.Untimed || !found.SeeksExactly() || found.Still != "" {
		return
	}
	seek := line.SeekTo(line.First-int64(p.Input.TimeBase.Ticks(audioLead.Seconds())), 0)
	for i := range p.Sounds() {
		if seek != video.NoSeek {
			p.Sound(i).Audio.Seek = &seek
		}
	}
}
