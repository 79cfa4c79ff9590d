package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// The kinds of sound tracks that players are told of.
const (
	dub         = "dub"
	commentary  = "commentary"
	description = "description"
)

// defaultSound returns the sound track that players begin with, or nil for a silent video.
func (p Presentation) defaultSound() *Sound {
	for i, s := range p.Audio {
		if s.Default {
			return &p.Audio[i]
		}
	}
	if len(p.Audio) == 0 {
		return nil
	}
	return &p.Audio[0] // the default is not there yet
}

// soundStats returns what any of the sound tracks needs at most, and the codecs of all.
func (p Presentation) soundStats() (most stats, codecs []string) {
	for _, s := range p.Audio {
		m := s.stats()
		most.peak, most.average = max(most.peak, m.peak), max(most.average, m.average)
		for _, c := range s.Codecs {
			if !slices.Contains(codecs, c) {
				codecs = append(codecs, c)
			}
		}
	}
	return most, codecs
}

// writeSounds lists the sound tracks in a master playlist. A player chooses one by itself only where language and purpose
// tell it from the others.
func writeSounds(b *bytes.Buffer, p Presentation) {
	first := p.defaultSound()
	chosen := map[string]bool{first.purpose(): true}
	for i := range p.Audio {
		s, isDefault := &p.Audio[i], "NO"
		auto := "NO"
		if s == first {
			isDefault, auto = "YES", "YES"
		} else if !chosen[s.purpose()] && s.Kind != commentary {
			chosen[s.purpose()], auto = true, "YES"
		}
		language, purpose := "", ""
		if s.isKnown() {
			language = fmt.Sprintf(`,LANGUAGE="%s"`, quotable(s.Language))
		}
		if s.Kind == description {
			purpose = `,CHARACTERISTICS="public.accessibility.describes-video"`
		}
		fmt.Fprintf(b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"%s\",NAME=\"%s\"%s,DEFAULT=%s,AUTOSELECT=%s%s,CHANNELS=\"%d\",URI=\"%s\"\n",
			AudioTrack, quotable(s.Label), language, isDefault, auto, purpose, s.Channels, p.Prefix+playlistFile(s.Name)+p.Query)
	}
}

// purpose is what a player can tell a track from others by.
func (s *Sound) purpose() string {
	return s.Language + " " + strconv.FormatBool(s.Kind == description)
}

// isKnown reports whether the language of a track is known.
func (s *Sound) isKnown() bool { return s.Language != "" && s.Language != "und" }

// soundSet describes a sound track for DASH players.
func soundSet(p Presentation, s *Sound) (adaptationSet, stats) {
	m := s.stats()
	r := represent(p, s.Track, m)
	r.SamplingRate, r.Channels = s.Timescale, &property{"urn:mpeg:dash:23003:3:audio_channel_configuration:2011", strconv.Itoa(s.Channels)}
	set := adaptationSet{ContentType: "audio", MimeType: "audio/mp4", Aligned: true, StartWithSAP: 1, Label: s.Label, Representations: []representation{r}}
	if s.isKnown() {
		set.Language = s.Language
	}
	if s == p.defaultSound() {
		set.Roles = append(set.Roles, property{roleScheme, "main"})
		if len(p.Audio) > 1 {
			set.Priority = 2
		}
	}
	switch {
	case slices.Contains([]string{dub, commentary, description}, s.Kind): // the words of the list
		set.Roles = append(set.Roles, property{roleScheme, s.Kind})
	case len(set.Roles) == 0:
		set.Roles = append(set.Roles, property{roleScheme, "alternate"})
	}
	return set, m
}

// roleScheme is the list of words for what a track is for.
const roleScheme = "urn:mpeg:dash:role:2011"
