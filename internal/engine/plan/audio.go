package plan

import (
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// longSilence is a gap without audio that is filled explicitly. ffmpeg fills
// shorter ones by itself, but in memory.
const longSilence = 20 * time.Second

// joinClocks finds out by how much the times after each jump of the clock have
// to be moved, for video and audio. track is nil for a silent video.
func joinClocks(f *probe.Result, stream probe.Stream, track *probe.Stream) (jumps []int64, shifts []time.Duration) {
	tb := probe.ParseRatio(stream.TimeBase)
	videoJumps := realJumps(f.Timelines[stream.Index].Jumps(), tb, ffmpeg.ClockLeaps(f.Format.Name))
	var audioJumps []probe.Jump
	var audioBase video.Ratio
	if track != nil {
		audioBase = probe.ParseRatio(track.TimeBase)
		audioJumps = realJumps(f.Timelines[track.Index].Jumps(), audioBase, ffmpeg.ClockLeaps(f.Format.Name))
	}
	for _, shift := range jumpShifts(videoJumps, tb, audioJumps, audioBase) {
		jumps = append(jumps, int64(tb.Ticks(shift)+0.5))
		if len(audioJumps) == len(videoJumps) {
			shifts = append(shifts, time.Duration(shift*float64(time.Second)))
		}
	}
	return jumps, shifts
}

// fitAudio notes where an audio track is silent for long, and returns when it ends; 0: that is not known.
func fitAudio(f *probe.Result, p *video.Plan, audio *video.Audio, track probe.Stream) (end time.Duration) {
	line, tb := f.Timelines[track.Index], probe.ParseRatio(track.TimeBase)
	zero := p.Input.TimeBase.Seconds(p.FirstPTS)
	onTimeline := func(ticks int64) time.Duration {
		seconds := min(max(tb.Seconds(ticks)-zero, 0), 2*maxDuration.Seconds())
		return time.Duration(seconds * float64(time.Second))
	}
	cutOff := p.Part != nil && p.Part.Origin < p.FirstPTS // with the frames before the part
	if early := zero - tb.Seconds(line.First); early >= minEarlyAudio && early < maxDuration.Seconds() && !cutOff {
		audio.Early = time.Duration(early * float64(time.Second))
	}
	audio.Packet = packetLength(line, tb)
	end = onTimeline(line.End)
	switch n := len(audio.Jumps); {
	case n > 0:
		end = onTimeline(line.ClockEnd()) + audio.Jumps[n-1]
	case len(p.Jumps) > 0:
		return 0 // it is not known which audio belongs to which frames
	default:
		audio.Silences = silences(line, onTimeline)
	}
	if p.Part != nil && p.Part.Length > 0 {
		end = min(end, p.Part.Length)
	}
	// The clock of audio with gaps may be wrong.
	if whole := float64(line.Played) >= 0.9*(float64(line.End)-float64(line.First)); !whole || end >= maxDuration {
		return 0
	}
	return end
}

// packetLength returns how long a packet of the audio plays on average, as far as that is known.
func packetLength(line *probe.Timeline, tb video.Ratio) time.Duration {
	played := tb.Seconds(line.Played)
	if played <= 0 { // not every container says how long a packet lasts
		played = tb.Seconds(line.End) - tb.Seconds(line.First)
	}
	return time.Duration(min(max(played, 0)/float64(max(line.Packets, 1)), 1) * float64(time.Second))
}

// minEarlyAudio is how many seconds of audio before the first frame are worth a
// warning; the clocks of most containers differ by some milliseconds.
const minEarlyAudio = 0.5

// silences lists the long gaps without audio, including the one before its
// beginning.
func silences(line *probe.Timeline, onTimeline func(int64) time.Duration) []video.Silence {
	all := []video.Silence{{To: onTimeline(line.First)}}
	for _, g := range line.Gaps {
		all = append(all, video.Silence{From: onTimeline(g.From), To: onTimeline(g.To)})
	}
	return slices.DeleteFunc(all, func(s video.Silence) bool { return s.To-s.From < longSilence })
}
