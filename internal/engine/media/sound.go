package media

import (
	"cmp"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// longSilence is a stretch without sound that is filled on purpose. ffmpeg
// fills shorter ones by itself; it does so in memory.
const longSilence = 20 * time.Second

// chooseAudio picks the sound track: the default one, else the first. Sound
// that begins only after the last picture is none.
func (f *findings) chooseAudio(film stream) *stream {
	filmEnd := parseRatio(film.TimeBase).Seconds(f.timelines[film.Index].end)
	var tracks []stream
	for _, s := range f.streams {
		line := f.timelines[s.Index]
		tb := parseRatio(s.TimeBase)
		if s.Type != "audio" || f.silent(s) != "" || line == nil || tb.Den <= 0 {
			continue
		}
		if tb.Seconds(line.first) <= filmEnd {
			tracks = append(tracks, s)
		}
	}
	if len(tracks) == 0 {
		return nil
	}
	best := slices.MaxFunc(tracks, func(a, b stream) int {
		return cmp.Or(cmp.Compare(a.Disposition.Default, b.Disposition.Default), cmp.Compare(b.Index, a.Index))
	})
	return &best
}

// silent returns why nothing can be heard of a sound track, or "".
func (f *findings) silent(s stream) video.FailureCode {
	line := f.timelines[s.Index]
	switch {
	case s.Tag == "enca", line != nil && line.encrypted:
		return video.Encrypted
	case s.nameless(), slices.Contains(f.refused, s.Codec):
		return video.UnsupportedCodec
	case s.Channels <= 0:
		return video.Corrupt
	}
	return ""
}

// joinClocks finds out by how much the times after each jump of the clock have
// to be moved, for pictures and for sound. sound is nil for a silent film.
func (f *findings) joinClocks(film stream, sound *stream) (jumps []int64, audio *video.Audio) {
	tb := parseRatio(film.TimeBase)
	pictures := f.timelines[film.Index].clock.real(tb, leaps(f.format.Name))
	var heard []jump
	var soundBase video.Ratio
	if sound != nil {
		soundBase = parseRatio(sound.TimeBase)
		heard = f.timelines[sound.Index].clock.real(soundBase, leaps(f.format.Name))
		audio = &video.Audio{Stream: sound.Index, Codec: sound.Codec, Channels: sound.Channels, Bitrate: 128_000}
		if audio.Channels == 1 {
			audio.Bitrate = 96_000
		}
	}
	for _, shift := range joined(pictures, tb, heard, soundBase) {
		jumps = append(jumps, int64(tb.Ticks(shift)+0.5))
		if len(heard) == len(pictures) {
			audio.Jumps = append(audio.Jumps, time.Duration(shift*float64(time.Second)))
		}
	}
	return jumps, audio
}

// fitSound notes where the sound is silent for long, and lets the film last
// until the sound has ended. The last picture stays on the screen meanwhile.
func (f *findings) fitSound(p *video.Plan, sound *stream) {
	if sound == nil {
		return
	}
	line, tb := f.timelines[sound.Index], parseRatio(sound.TimeBase)
	zero := p.Input.TimeBase.Seconds(p.FirstPTS)
	onFilm := func(ticks int64) time.Duration {
		seconds := min(max(tb.Seconds(ticks)-zero, 0), 2*maxDuration.Seconds())
		return time.Duration(seconds * float64(time.Second))
	}
	if early := zero - tb.Seconds(line.first); early >= worthMention && early < maxDuration.Seconds() {
		p.Audio.Early = time.Duration(early * float64(time.Second))
	}
	end := onFilm(line.end)
	switch n := len(p.Audio.Jumps); {
	case n > 0:
		end = onFilm(line.clock.end) + p.Audio.Jumps[n-1]
	case len(p.Jumps) > 0:
		return // nobody knows which sound belongs to which picture
	default:
		p.Audio.Silences = silences(line, onFilm)
	}
	// Sound with holes in it may have a clock that cannot be believed.
	whole := float64(line.played) >= 0.9*(float64(line.end)-float64(line.first))
	if whole && end > p.Duration && end < maxDuration {
		p.Duration = end
	}
}

// worthMention is how many seconds of sound before the first picture a person is
// told about; the clocks of most containers differ by some milliseconds.
const worthMention = 0.5

// silences lists the long stretches without sound, the one before the first
// sound among them.
func silences(line *timeline, onFilm func(int64) time.Duration) []video.Silence {
	all := []video.Silence{{To: onFilm(line.first)}}
	for _, g := range line.gaps {
		all = append(all, video.Silence{From: onFilm(g.from), To: onFilm(g.to)})
	}
	return slices.DeleteFunc(all, func(s video.Silence) bool { return s.To-s.From < longSilence })
}
