package plan

import (
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// longSilence is a stretch without sound that is filled on purpose. ffmpeg
// fills shorter ones by itself; it does so in memory.
const longSilence = 20 * time.Second

// joinClocks finds out by how much the times after each jump of the clock have
// to be moved, for pictures and for sound. sound is nil for a silent film.
func joinClocks(f *probe.Result, film probe.Stream, sound *probe.Stream) (jumps []int64, audio *video.Audio) {
	tb := probe.ParseRatio(film.TimeBase)
	pictures := realJumps(f.Timelines[film.Index].Jumps(), tb, ffmpeg.ClockLeaps(f.Format.Name))
	var heard []probe.Jump
	var soundBase video.Ratio
	if sound != nil {
		soundBase = probe.ParseRatio(sound.TimeBase)
		heard = realJumps(f.Timelines[sound.Index].Jumps(), soundBase, ffmpeg.ClockLeaps(f.Format.Name))
		audio = &video.Audio{Stream: sound.Index, Codec: sound.Codec, Channels: sound.Channels, Bitrate: 128_000}
		if audio.Channels == 1 {
			audio.Bitrate = 96_000
		}
	}
	for _, shift := range jumpShifts(pictures, tb, heard, soundBase) {
		jumps = append(jumps, int64(tb.Ticks(shift)+0.5))
		if len(heard) == len(pictures) {
			audio.Jumps = append(audio.Jumps, time.Duration(shift*float64(time.Second)))
		}
	}
	return jumps, audio
}

// fitAudio notes where the sound is silent for long, and lets the film last
// until the sound has ended. The last picture stays on the screen meanwhile.
func fitAudio(f *probe.Result, p *video.Plan, sound *probe.Stream) {
	if sound == nil {
		return
	}
	line, tb := f.Timelines[sound.Index], probe.ParseRatio(sound.TimeBase)
	zero := p.Input.TimeBase.Seconds(p.FirstPTS)
	onFilm := func(ticks int64) time.Duration {
		seconds := min(max(tb.Seconds(ticks)-zero, 0), 2*maxDuration.Seconds())
		return time.Duration(seconds * float64(time.Second))
	}
	if early := zero - tb.Seconds(line.First); early >= minEarlyAudio && early < maxDuration.Seconds() {
		p.Audio.Early = time.Duration(early * float64(time.Second))
	}
	end := onFilm(line.End)
	switch n := len(p.Audio.Jumps); {
	case n > 0:
		end = onFilm(line.ClockEnd()) + p.Audio.Jumps[n-1]
	case len(p.Jumps) > 0:
		return // nobody knows which sound belongs to which picture
	default:
		p.Audio.Silences = silences(line, onFilm)
	}
	// Sound with holes in it may have a clock that cannot be believed.
	whole := float64(line.Played) >= 0.9*(float64(line.End)-float64(line.First))
	if whole && end > p.Duration && end < maxDuration {
		p.Duration = end
	}
}

// worthMention is how many seconds of sound before the first picture a person is
// told about; the clocks of most containers differ by some milliseconds.
const minEarlyAudio = 0.5

// silences lists the long stretches without sound, the one before the first
// sound among them.
func silences(line *probe.Timeline, onFilm func(int64) time.Duration) []video.Silence {
	all := []video.Silence{{To: onFilm(line.First)}}
	for _, g := range line.Gaps {
		all = append(all, video.Silence{From: onFilm(g.From), To: onFilm(g.To)})
	}
	return slices.DeleteFunc(all, func(s video.Silence) bool { return s.To-s.From < longSilence })
}
