package video

import (
	"fmt"
	"slices"
	"strings"
)

// CopySource says whether the picture of a source may be copied instead of being encoded again.
type CopySource string

const (
	NeverCopy CopySource = "never"
	AutoCopy  CopySource = "auto" // at the source's own size, if it plays everywhere as it is
)

// CopySources lists every choice.
var CopySources = []CopySource{NeverCopy, AutoCopy}

// checkCopySource returns what is wrong with the choice of a client.
func checkCopySource(choice CopySource) []Fault {
	if choice == "" || slices.Contains(CopySources, choice) {
		return nil
	}
	return []Fault{{"copySource", "not_allowed", fmt.Sprintf("must be one of %v", CopySources)}}
}

// CopyReason is why the picture of a source is not copied: a stable word for programs.
type CopyReason string

const (
	CopyCodec       CopyReason = "codec"
	CopyProfile     CopyReason = "profile"
	CopyPixelFormat CopyReason = "pixel_format"
	CopyHDR         CopyReason = "hdr"
	CopyInterlaced  CopyReason = "interlaced"
	CopyAspect      CopyReason = "aspect"
	CopyRotated     CopyReason = "rotated"
	CopyEditList    CopyReason = "edit_list"
	CopyFrameRate   CopyReason = "frame_rate"
	CopyOpenGOP     CopyReason = "open_gop"
	CopyKeyframes   CopyReason = "keyframe_distance"
	CopyBitrate     CopyReason = "bitrate"
	CopyDamaged     CopyReason = "damaged"
	CopyWatermark   CopyReason = "watermark"
	CopyTrim        CopyReason = "trim"
)

// copyReasons are the reasons in the order in which they are told, as ends of a sentence.
var copyReasons = []struct {
	reason CopyReason
	says   string
}{
	{CopyCodec, "it is not H.264"},
	{CopyProfile, "its H.264 profile or level is one that some devices do not play"},
	{CopyPixelFormat, "its pixels are not stored as 8-bit 4:2:0 in limited range"},
	{CopyHDR, "ordinary screens do not show its colours"},
	{CopyInterlaced, "it is interlaced"},
	{CopyAspect, "its pixels are not square"},
	{CopyRotated, "it is stored rotated"},
	{CopyEditList, "its edit list leaves out or moves parts of it"},
	{CopyFrameRate, "it has more frames a second than are kept"},
	{CopyOpenGOP, "decoding cannot begin at each of its keyframes"},
	{CopyKeyframes, "its keyframes are more than 10 seconds apart"},
	{CopyBitrate, "its bitrate is far above the cap of its size"},
	{CopyDamaged, "it does not decode without errors"},
	{CopyWatermark, "it gets a watermark"},
	{CopyTrim, "only a part of it is made"},
}

// CopyReasons lists every reason.
func CopyReasons() []CopyReason {
	all := make([]CopyReason, len(copyReasons))
	for i, r := range copyReasons {
		all[i] = r.reason
	}
	return all
}

// Copy is what became of the wish to copy the picture of a source.
type Copy struct {
	Reasons []CopyReason `json:"reasons,omitempty"` // why it is not copied; none: it plays everywhere as it is
}

// With returns c with one more reason.
func (c *Copy) With(r CopyReason) *Copy {
	all := append(slices.Clone(c.Reasons), r)
	order := CopyReasons()
	slices.SortFunc(all, func(a, b CopyReason) int { return slices.Index(order, a) - slices.Index(order, b) })
	return &Copy{Reasons: slices.Compact(all)}
}

// Making is how the picture of a rendition is made.
type Making string

const (
	Encoded Making = ""       // from the decoded source
	Copied  Making = "copied" // it is the source's own picture
	// Recoded is encoded by tasks of its own: it was to be copied, but the picture turned out to be no good.
	Recoded Making = "recoded"
)

// CopiedRendition returns the index of the rendition that is the source's own picture, or -1.
func (p *Plan) CopiedRendition() int {
	for n, r := range slices.Backward(p.Renditions) { // the latest: an earlier one may have been deleted
		if r.Making == Copied {
			return n
		}
	}
	return -1
}

// Recode returns the plan with the copied rendition encoded instead.
func (p *Plan) Recode(r CopyReason) *Plan {
	other, n := *p, p.CopiedRendition()
	other.Renditions = slices.Clone(p.Renditions)
	other.Renditions[n].Making = Recoded
	other.Copy = (&Copy{}).With(r)
	if p.Copy != nil {
		other.Copy = p.Copy.With(r)
	}
	return &other
}

// SourceKeys reports whether all renditions have their keyframes where the source has some: they are made beside a
// rendition that is the source's own picture.
func (p *Plan) SourceKeys() bool { return len(p.Chunks) > 0 && len(p.Chunks[0].Keys) > 0 }

// OwnSize returns the index of the rendition at the size of the source, or -1.
func (p *Plan) OwnSize() int {
	return slices.IndexFunc(p.Renditions, func(r Rendition) bool { return r.Width == p.Input.CodedWidth && r.Height == p.Input.CodedHeight })
}

// ProfileSetsBits reports whether the chosen profile says how many bits the rendition at the size of the source has.
// What the operator asks for goes before a copy.
func (p *Plan) ProfileSetsBits() bool {
	n := p.OwnSize()
	return n >= 0 && (p.Renditions[n].Profile.CRF > 0 || p.Renditions[n].Profile.MaxBitrate > 0)
}

// decideCopy explains whether the picture of the source is copied.
func (p *Plan) decideCopy(add func(what, why string)) {
	n := p.CopiedRendition()
	switch {
	case p.Copy == nil:
	case n >= 0:
		add(fmt.Sprintf("%s is the picture of the file, copied without encoding it again.", joinNames(p.Renditions[n].Names)), "It plays everywhere as it is.")
		add("All renditions have their keyframes where the file has them.", "Players can then switch between them and the copied one.")
	case len(p.Copy.Reasons) > 0:
		var why []string
		for _, r := range copyReasons {
			switch {
			case !slices.Contains(p.Copy.Reasons, r.reason):
			case r.reason == CopyBitrate && p.ProfileSetsBits():
				why = append(why, fmt.Sprintf("the profile %s sets the quality or the bitrate of this size", p.Profile))
			default:
				why = append(why, r.says)
			}
		}
		add("The picture of the file is encoded at its own size, too.", "It cannot be copied: "+strings.Join(why, "; ")+".")
	}
}
