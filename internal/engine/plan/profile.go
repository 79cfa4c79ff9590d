package plan

import (
	"math"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// applyProfile writes into a plan what the chosen profile says of its sizes and its audio.
func applyProfile(p *video.Plan, chosen *video.Profile, line *probe.Timeline) {
	if chosen == nil {
		return
	}
	p.Profile, p.Preset = chosen.Name, chosen.Preset
	if p.Audio != nil && chosen.AudioBitrate > 0 {
		p.Audio.Bitrate = chosen.AudioBitrate
	}
	for i, r := range p.Renditions {
		says := chosen.Of(r.Names)
		if most := says.MaxFPS; most >= maxRate || most > 0 && newFrameLimit(line, p.Input.TimeBase, most).limit == 0 {
			says.MaxFPS = 0 // the source has no more
		}
		p.Renditions[i].Profile = says
	}
}

// SlotOffset returns how much earlier than its frame a slot of ProfileSize.MaxFPS begins, as a part of the slot: the
// offset of all slots or, where a source has many frames for one that is kept, less than the distance of two of them.
func SlotOffset(in video.Input, most int) float64 {
	return min(video.SlotOffset, 0.4*float64(most)/max(in.FrameRate, 1))
}

// keeper tells which frames a size keeps that has fewer than others. encode.thinFilter does the same.
type keeper struct {
	most, offset float64
	begun        bool
	group, last  float64 // seconds: the first frame of these two seconds, and the last frame that was kept
}

func (k *keeper) slot(at float64) float64 { return math.Floor((at-k.group)*k.most + k.offset) }

// keeps reports whether the frame at so many seconds is kept, after the frames before it in its chunk.
func (k *keeper) keeps(at float64) bool {
	two := func(at float64) float64 { return math.Floor(at/keyEvery.Seconds() + 1e-5) }
	switch {
	case !k.begun || two(at) > two(k.last):
		k.begun, k.group = true, at
	case k.slot(at) <= k.slot(k.last):
		return false
	}
	k.last = at
	return true
}

// keptAt returns the frames, of those in the outputs, that a size of so many frames a second keeps. Each chunk keeps its
// first frame.
func keptAt(p *video.Plan, frames []int64, most int) (all []int64) {
	k, n := keeper{most: float64(most), offset: SlotOffset(p.Input, most)}, 0
	for _, pts := range frames {
		for n+1 < len(p.Chunks) && pts >= p.Chunks[n+1].Start {
			n, k.begun = n+1, false
		}
		if k.keeps(p.Input.TimeBase.Seconds(pts - p.FirstPTS)) {
			all = append(all, pts)
		}
	}
	return all
}

// countKept notes on each chunk how many frames it should have at each lower frame rate.
func countKept(p *video.Plan, frames []int64) {
	for _, r := range p.Renditions {
		most := r.Profile.MaxFPS
		if most == 0 || p.Chunks[0].FramesAt[most] > 0 {
			continue
		}
		n := 0
		for _, pts := range keptAt(p, frames, most) {
			for n+1 < len(p.Chunks) && pts >= p.Chunks[n].End {
				n++
			}
			if p.Chunks[n].FramesAt == nil {
				p.Chunks[n].FramesAt = map[int]int{}
			}
			p.Chunks[n].FramesAt[most]++
		}
	}
}

// slowest returns the frames of the size that keeps the fewest.
func slowest(p *video.Plan, frames []int64) []int64 {
	least := 0
	for _, r := range p.Renditions {
		if most := r.Profile.MaxFPS; most > 0 && (least == 0 || most < least) {
			least = most
		}
	}
	if least == 0 {
		return frames
	}
	return keptAt(p, frames, least)
}
