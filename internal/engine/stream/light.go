package stream

import (
	"slices"
	"strconv"
)

// ranges are the names of HLS for how light is coded, by the numbers of ISO/IEC 23091-2. All others are SDR.
var ranges = map[int]string{16: "PQ", 18: "HLG"}

func (t Track) isHDR() bool { return ranges[t.Transfer] != "" }

// hasHDR reports whether a player has to know of the range of the tracks.
func (p Presentation) hasHDR() bool { return slices.ContainsFunc(p.Video, Track.isHDR) }

// videoRange is the attribute of a track in a master playlist. A player that finds it in one variant wants it in all.
func videoRange(p Presentation, t Track) string {
	if !p.hasHDR() {
		return ""
	}
	if t.isHDR() {
		return ",VIDEO-RANGE=" + ranges[t.Transfer]
	}
	return ",VIDEO-RANGE=SDR"
}

// light are the properties of an adaptation set of HDR. They are essential: a player that does not know them, or whose
// screen is an ordinary one, takes another set.
func (t Track) light() []property {
	if !t.isHDR() {
		return nil
	}
	const cicp, bt2020 = "urn:mpeg:mpegB:cicp:", "9"
	return []property{{cicp + "ColourPrimaries", bt2020}, {cicp + "TransferCharacteristics", strconv.Itoa(t.Transfer)}, {cicp + "MatrixCoefficients", bt2020}}
}
