package video

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Profile is a named ladder of the operator: how the sizes of a video are encoded, where that differs from the usual. Its
// values are stored with each video that chooses it, so a change of it is about later videos only.
type Profile struct {
	Name         string               `json:"name"`
	Preset       string               `json:"preset,omitempty"`       // of x264; "": what the quality says
	AudioBitrate int                  `json:"audioBitrate,omitempty"` // bits per second; 0: the usual one
	MaxFPS       int                  `json:"maxFps,omitempty"`       // frames a second of sizes that say nothing else; 0: the usual limit
	Sizes        map[Name]ProfileSize `json:"sizes,omitempty"`
}

// ProfileSize is what a profile says of one size. 0 is the usual value.
type ProfileSize struct {
	CRF        float64 `json:"crf,omitempty"`        // of H.264
	MaxBitrate int     `json:"maxBitrate,omitempty"` // bits per second, instead of the cap of the size
	MaxFPS     int     `json:"maxFps,omitempty"`     // frames a second
}

// Presets are the presets of x264 that a profile may name, the fastest first. Those that are faster make no High profile,
// and those that are slower need more memory and time than an encode may take.
var Presets = []string{"superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"}

// Names returns the sizes of a profile, the largest first.
func (p *Profile) Names() []Name {
	if p == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(p.Sizes), func(a, b Name) int { return b.ShortSide() - a.ShortSide() })
}

// Of returns what a profile says of a rendition with these names. Names that share one encode have the size of the
// smallest of them, so that one counts.
func (p *Profile) Of(names []Name) ProfileSize {
	if p == nil || len(names) == 0 {
		return ProfileSize{}
	}
	size := p.Sizes[slices.MinFunc(names, func(a, b Name) int { return a.ShortSide() - b.ShortSide() })]
	if size.MaxFPS == 0 {
		size.MaxFPS = p.MaxFPS
	}
	return size
}

// ProfileOf returns the profile that a client has chosen, or what is wrong with its choice. "" is none.
func ProfileOf(name string, all []Profile) (*Profile, []Fault) {
	if name == "" {
		return nil, nil
	}
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i >= 0 {
		return &all[i], nil
	}
	if len(all) == 0 {
		return nil, []Fault{{"profile", "not_allowed", "there are no profiles on this server: leave it out"}}
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return nil, []Fault{{"profile", "not_allowed", fmt.Sprintf("there is no profile %q; the profiles are: %s", name, strings.Join(names, ", "))}}
}

func (p *Plan) profileSays() string { return fmt.Sprintf("The profile %s says so.", p.Profile) }

// decideSlowSizes explains the sizes with fewer frames than the source, and returns how many there are.
func (p *Plan) decideSlowSizes(add func(what, why string)) (slow int) {
	for _, r := range p.Renditions {
		most := r.Profile.MaxFPS
		if most == 0 {
			continue
		}
		if slow++; len(r.Names) > 0 {
			add(fmt.Sprintf("Of %s frames per second, at most %d are kept in %s.", formatNumber(p.Input.FrameRate), most, joinNames(r.Names)),
				p.profileSays()+" Kept frames keep their timestamps.")
		}
	}
	return slow
}

// decideProfile explains what the profile says of the encoder. Hardware has no CRF and no such presets.
func (p *Plan) decideProfile(add func(what, why string)) {
	software := slices.ContainsFunc(p.Renditions, func(r Rendition) bool { return r.CRF[H264] > 0 })
	if p.Preset != "" && software {
		add(fmt.Sprintf("H.264 is encoded with the preset %s.", p.Preset), p.profileSays())
	}
	for _, r := range p.Renditions {
		if r.Profile.MaxBitrate > 0 && len(r.Names) > 0 {
			add(fmt.Sprintf("The bitrate of %s is at most %d kbit/s.", joinNames(r.Names), r.Profile.MaxBitrate/1000), p.profileSays())
		}
	}
}
