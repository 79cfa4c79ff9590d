package video

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Variant is a resolution in another codec than H.264. It is made after the video
// is ready, and nothing waits for it.
//
// The variants of a resolution are stored as JSON with it, so fields may be added
// but never change their meaning.
type Variant struct {
	Codec   Codec    `json:"codec"`
	Status  Status   `json:"status"`            // Ready or Fail: one that is still to be made is not stored
	Failure *Failure `json:"failure,omitempty"` // set when Status is Fail

	// Known once Status is Ready.
	SizeBytes int64        `json:"sizeBytes,omitempty"`
	Bitrate   int64        `json:"bitrate,omitempty"` // bits per second
	Range     DynamicRange `json:"range,omitempty"`   // "": SDR

	// Reason is why it is made. Variants sets it; it is not stored.
	Reason Reason `json:"-"`
	// Progress is 0 to 1. The code that reads open tasks sets it; it is not stored.
	Progress float64 `json:"-"`
}

// VariantKind is the kind of the files of variants. A video has one such file for
// each of its resolutions and second codecs.
const VariantKind FileKind = "variant"

// VariantFile is the name of the file of a variant. It begins with a letter, as
// the names of all files that a video lists.
func VariantFile(c Codec, n Name) string { return string(c) + "-" + string(n) + ".mp4" }

// ExtraCodecs are the codecs that a client may ask for beside H.264.
var ExtraCodecs = []Codec{AV1, HEVC}

// checkCodecs returns what is wrong with the codecs that a client asks for. None
// at all, which is nil, is valid.
func checkCodecs(all []Codec) []Fault {
	if all == nil {
		return nil
	}
	if n := len(all); n < 1 || n > maxCodecs {
		return []Fault{{"codecs", "out_of_range", fmt.Sprintf("must have 1 to %d names, has %d", maxCodecs, n)}}
	}
	var faults []Fault
	for i, c := range all {
		if c != H264 && !slices.Contains(ExtraCodecs, c) {
			faults = append(faults, Fault{fmt.Sprintf("codecs[%d]", i), "not_allowed", "must be h264, av1 or hevc"})
		}
	}
	return faults
}

// WithoutH264 returns the codecs of a list that are made beside H.264, each once.
func WithoutH264(all []Codec) []Codec {
	var extra []Codec
	for _, c := range all {
		if c != H264 && !slices.Contains(extra, c) {
			extra = append(extra, c)
		}
	}
	return extra
}

// Reason is why a variant is made.
type Reason string

// The reasons.
const (
	Asked   Reason = "asked"   // by the client, or by the server's setting
	Popular Reason = "popular" // the video was watched much
)

// ReasonFor returns why a video is made in a codec.
func (v *Video) ReasonFor(c Codec) Reason {
	if slices.Contains(v.Popular, c) {
		return Popular
	}
	return Asked
}

// Variants returns the variants of a resolution of v, in the order of v.Codecs,
// with those that are still to be made. These have the status of the resolution
// until it is ready, and are processing then. A failed resolution has failed in
// every codec.
func (v *Video) Variants(r Resolution) []Variant {
	var all []Variant
	for _, c := range v.Codecs {
		made, ok := r.Variant(c)
		switch {
		case ok && r.Status == Ready:
			all = append(all, made)
		case r.Status == Ready:
			all = append(all, Variant{Codec: c, Status: Processing})
		default:
			all = append(all, Variant{Codec: c, Status: r.Status, Failure: r.Failure})
		}
		all[len(all)-1].Reason = v.ReasonFor(c)
	}
	return all
}

// Variant returns what became of a variant. It reports false for one that is
// still to be made.
func (r *Resolution) Variant(c Codec) (Variant, bool) {
	for _, v := range r.Variants {
		if v.Codec == c {
			return v, true
		}
	}
	return Variant{}, false
}

// WithVariant returns the list of r with a variant added or replaced.
func (r *Resolution) WithVariant(v Variant) []Variant {
	kept := slices.DeleteFunc(slices.Clone(r.Variants), func(old Variant) bool { return old.Codec == v.Codec })
	return append(kept, v)
}

// Lacks reports whether a ready resolution is still to be made in a codec.
func (v *Video) Lacks(r Resolution, c Codec) bool {
	_, made := r.Variant(c)
	return r.Status == Ready && !made && slices.Contains(v.Codecs, c)
}

// LacksAny reports whether a variant of v is still to be made.
func (v *Video) LacksAny(c Codec) bool {
	return slices.ContainsFunc(v.Resolutions, func(r Resolution) bool { return v.Lacks(r, c) })
}

// Wanted returns the renditions of a plan, by their numbers, that are still to be
// made in a codec. The largest comes first, as the encoder wants them.
func (v *Video) Wanted(c Codec) []int {
	if v.Plan == nil {
		return nil
	}
	var all []int
	for _, r := range v.Resolutions {
		n := v.Plan.RenditionOf(r.Name)
		if n >= 0 && v.Lacks(r, c) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	pixels := func(n int) int { return v.Plan.Renditions[n].Width * v.Plan.Renditions[n].Height }
	slices.SortFunc(all, func(a, b int) int { return cmp.Or(cmp.Compare(pixels(b), pixels(a)), cmp.Compare(a, b)) })
	return all
}

// Beside returns the plan of some renditions in another codec, as if there were
// no others.
func (p *Plan) Beside(c Codec, renditions []int) *Plan {
	other := *p
	other.Codec, other.Early, other.First = c, nil, 0
	other.Renditions = nil
	for _, n := range renditions {
		r := p.Renditions[n]
		r.Making = Encoded
		other.Renditions = append(other.Renditions, r)
	}
	other.Chunks = p.keyChunks()
	return &other
}

// MostOfH264 is how many of the bytes of the H.264 picture a variant may have. What saves less is not worth that
// players have to choose.
const MostOfH264 = 0.85

// secondAim is how many of them a second try aims at, so that it does not miss by little.
const secondAim = 0.82

// secondTry says, of a codec that is made beside H.264, by which part one step of its CRF makes a file smaller, and how many
// steps may be added. With more of them it would look worse than H.264, unless that was held down by the bits of its source.
var secondTry = map[Codec]struct{ step, most, heldDown float64 }{AV1: {0.05, 6, 16}, HEVC: {0.12, 3, 5}}

// heldDownFrom is how much of its limit an H.264 picture has at least if the limit held it down: encoders leave some of it.
const heldDownFrom = 0.75

// Retry returns the plan in which a rendition is made again in a codec, with so much higher a CRF that its picture,
// which had so many bytes, gets smaller than the H.264 picture by the required part. It returns false if it was made again
// before, or if it would look worse, as everything does beside a copied H.264 picture, which has lost nothing.
func (p *Plan) Retry(c Codec, rendition int, bytes, h264 int64) (*Plan, bool) {
	r, try := p.Renditions[rendition], secondTry[c]
	steps := math.Ceil(math.Log(float64(bytes)/(secondAim*float64(h264))) / -math.Log(1-try.step))
	most := try.most
	if limit := float64(r.MaxBitrate[H264]); limit > 0 && 8*float64(h264)/p.Duration.Seconds() > heldDownFrom*limit {
		most = try.heldDown
	}
	if r.Making == Copied || slices.Contains(r.Again, c) || r.CRF[c] == 0 || h264 <= 0 || steps > most {
		return nil, false
	}
	next := *p
	next.Renditions = slices.Clone(p.Renditions)
	r.Again, r.CRF = append(slices.Clone(r.Again), c), maps.Clone(r.CRF)
	r.CRF[c] += steps
	next.Renditions[rendition] = r
	return &next, true
}

const (
	// keySeconds is the distance of the keyframes of all outputs.
	keySeconds = 2
	// keySlack is how much too early a keyframe may be, as a part of the distance.
	keySlack = 1e-5
)

// keyChunks returns the chunks with borders where H.264 has keyframes on the grid of
// all outputs. An encoder that puts a keyframe after so many frames, and nowhere
// else, then puts them at the same frames. A chunk may become empty.
func (p *Plan) keyChunks() []Chunk {
	chunks := slices.Clone(p.Chunks)
	if p.SourceKeys() {
		return chunks // all of them begin at keyframes of all renditions
	}
	for i := 1; i < len(chunks); i++ {
		chunks[i].Start = p.nextKey(chunks[i].Start)
		chunks[i-1].End = chunks[i].Start
	}
	for i := range chunks {
		chunks[i].Frames, chunks[i].FramesAt = 0, nil // not known for these chunks
	}
	return chunks
}

// nextKey returns the time of the grid of keyframes at or after pts. If the frame
// rate is limited, it is where the slot of that time begins: a chunk keeps its first
// frame, which must be the one that is kept without a border, too.
func (p *Plan) nextKey(pts int64) int64 {
	n := math.Ceil(p.Input.TimeBase.Seconds(pts-p.FirstPTS)/keySeconds - keySlack)
	early := keySlack * keySeconds
	if p.LimitRate > 0 {
		early = SlotOffset / float64(p.LimitRate)
	}
	return p.FirstPTS + int64(math.Ceil(p.Input.TimeBase.Ticks(n*keySeconds-early)))
}

// WithoutStrayVariants returns the list of files of v without the files of variants whose
// resolution is gone, and whether there were any.
func (v *Video) WithoutStrayVariants() ([]File, bool) {
	has := func(f File) bool {
		return slices.ContainsFunc(v.Resolutions, func(r Resolution) bool {
			return slices.ContainsFunc(r.Variants, func(x Variant) bool { return f.Name == VariantFile(x.Codec, r.Name) })
		})
	}
	kept := slices.DeleteFunc(append([]File{}, v.Files...), func(f File) bool { return f.Kind == VariantKind && !has(f) })
	return kept, len(kept) < len(v.Files)
}

// AwaitsVariant reports whether a file belongs to a variant that is still to be made.
func (v *Video) AwaitsVariant(file string) bool {
	return slices.ContainsFunc(v.Resolutions, func(r Resolution) bool {
		return slices.ContainsFunc(v.Variants(r), func(x Variant) bool { return file == VariantFile(x.Codec, r.Name) && !x.Status.Finished() })
	})
}
