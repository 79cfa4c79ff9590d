package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/language"
	"github.com/spool-video/spool/internal/video"
)

// bitrateOf returns the bits a second with which a track is encoded.
func bitrateOf(track probe.Stream) int {
	if track.Channels == 1 {
		return 96_000
	}
	return 128_000
}

// newAudio describes a sound track. shifts are by how much it moves after each jump of its clock.
func newAudio(track probe.Stream, shifts []time.Duration) video.Audio {
	return video.Audio{Stream: track.Index, Codec: track.Codec, Channels: track.Channels, Bitrate: bitrateOf(track), Jumps: shifts}
}

// firstOf returns the track that players begin with, or nil for a silent video.
func firstOf(tracks []probe.Stream) *probe.Stream {
	if len(tracks) == 0 {
		return nil
	}
	return &tracks[0]
}

// addSounds adds the sound tracks of a file to its plan. The first one may make the video longer: the last frame stays on
// the screen meanwhile. The others are cut where the video ends.
func addSounds(f *probe.Result, p *video.Plan, tracks []probe.Stream, shifts []time.Duration) {
	tracks = slices.Clone(tracks[:min(len(tracks), video.MaxEmbeddedTracks)])
	for i, track := range tracks {
		if i == 0 {
			p.Audio = new(newAudio(track, shifts))
			p.Duration = max(p.Duration, fitAudio(f, p, p.Audio, track))
			continue
		}
		if jumps := f.Timelines[track.Index].Jumps(); len(jumps) != len(shifts) {
			p.Others = append(p.Others, newAudio(track, nil))
		} else {
			p.Others = append(p.Others, newAudio(track, shifts))
		}
		fitAudio(f, p, &p.Others[i-1], track)
	}
	for _, track := range f.Streams {
		if failure := undecodable(f, track); failure != nil && p.Audio != nil && len(tracks) < video.MaxEmbeddedTracks {
			audio := newAudio(track, nil)
			audio.Failure = failure
			p.Others, tracks = append(p.Others, audio), append(tracks, track)
		}
	}
	nameSounds(p, tracks)
}

// undecodable returns why a stream is a sound track that cannot be made, or nil. It is said of tracks beside one that can;
// a video that has no other sound is silent, with a warning.
func undecodable(f *probe.Result, track probe.Stream) *video.Failure {
	if track.Type != "audio" {
		return nil
	}
	switch f.AudioFailure(track) {
	case video.Encrypted:
		return video.Failf(video.Encrypted, "This sound track is encrypted and cannot be read.")
	case video.UnsupportedCodec:
		return video.Failf(video.UnsupportedCodec, "This sound track is stored in a format (%s) that cannot be decoded here.", probe.CodecName(track))
	case video.Corrupt:
		return video.Failf(video.Corrupt, "This sound track is damaged and could not be decoded.")
	}
	return nil
}

// nameSounds gives sound tracks the names by which people know them, in the order of the file.
func nameSounds(p *video.Plan, tracks []probe.Stream) {
	type named struct {
		audio *video.Audio
		track probe.Stream
	}
	var all []named
	for i, track := range tracks {
		all = append(all, named{p.Sound(i).Audio, track})
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.track.Index, b.track.Index) })
	var taken []string
	for _, n := range all {
		n.audio.Kind = kindOf(n.track)
		name, ok := language.Parse(n.track.Tags.Language)
		if !ok {
			name = language.Undetermined
		}
		n.audio.Language = name
		n.audio.Label = video.UniqueLabel(cmp.Or(language.Title(n.track.Title()), language.TrackLabel(name, string(n.audio.Kind))), taken)
		taken = append(taken, n.audio.Label)
	}
}

// kindOf returns what people hear in a track, as its file says.
func kindOf(track probe.Stream) video.TrackKind {
	switch d := track.Disposition; {
	case d["descriptions"] != 0, d["visual_impaired"] != 0:
		return video.Description
	case d["comment"] != 0:
		return video.Commentary
	case d["dub"] != 0:
		return video.Dub
	}
	return video.MainTrack
}
