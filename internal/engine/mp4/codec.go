package mp4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/Eyevinn/mp4ff/aac"
	"github.com/Eyevinn/mp4ff/av1"
	"github.com/Eyevinn/mp4ff/hevc"
	mp4ff "github.com/Eyevinn/mp4ff/mp4"
)

// codecNames returns the RFC 6381 names, which browsers are asked whether they
// can play, for all sample entries of a track, each once.
func codecNames(entries []mp4ff.Box) ([]string, error) {
	var names []string
	for _, e := range entries {
		name, err := codecName(e)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// codecName needs an entry that passes hasSetup.
func codecName(entry mp4ff.Box) (string, error) {
	switch e := entry.(type) {
	case *mp4ff.AudioSampleEntryBox:
		return aacName(e)
	case *mp4ff.VisualSampleEntryBox:
		switch {
		case e.Type() == "avc1":
			c := e.AvcC
			return fmt.Sprintf("avc1.%02x%02x%02x", c.AVCProfileIndication, c.ProfileCompatibility, c.AVCLevelIndication), nil
		case e.Type() == "hvc1":
			return hevcName(e.HvcC.DecConfRec), nil
		case e.Type() == "av01":
			return av1Name(e.Av1C.CodecConfRec), nil
		}
	}
	return "", fmt.Errorf("codec %q has no name", entry.Type())
}

func hevcName(c hevc.DecConfRec) string {
	return hevc.CodecString("hvc1", &hevc.SPS{ProfileTierLevel: hevc.ProfileTierLevel{
		GeneralProfileSpace: c.GeneralProfileSpace, GeneralTierFlag: c.GeneralTierFlag, GeneralProfileIDC: c.GeneralProfileIDC,
		GeneralProfileCompatibilityFlags: c.GeneralProfileCompatibilityFlags,
		GeneralConstraintIndicatorFlags:  c.GeneralConstraintIndicatorFlags, GeneralLevelIDC: c.GeneralLevelIDC,
	}})
}

func av1Name(c av1.CodecConfRec) string {
	tier, depth := "M", 8
	if c.SeqTier0 == 1 {
		tier = "H"
	}
	switch {
	case c.HighBitdepth == 1 && c.TwelveBit == 1:
		depth = 12
	case c.HighBitdepth == 1:
		depth = 10
	}
	return fmt.Sprintf("av01.%d.%02d%s.%02d", c.SeqProfile, c.SeqLevelIdx0, tier, depth)
}

func aacName(e *mp4ff.AudioSampleEntryBox) (string, error) {
	d := e.Esds.DecConfigDescriptor
	if d == nil || d.DecSpecificInfo == nil {
		return "", fmt.Errorf("%q does not say how to set up its decoder", e.Type())
	}
	c, err := aac.DecodeAudioSpecificConfig(bytes.NewReader(d.DecSpecificInfo.DecConfig))
	if err != nil {
		return "", fmt.Errorf("read the configuration of the audio: %w", err)
	}
	return fmt.Sprintf("mp4a.%x.%d", d.ObjectType, c.ObjectType), nil
}

// parameterSets returns, for each sample entry, what it takes to begin with it
// in the middle of a video: the parameter sets of H.264 and HEVC, as samples
// hold them. Keyframes of AV1 contain theirs.
func parameterSets(entries []mp4ff.Box) [][]byte {
	sets := make([][]byte, len(entries))
	for i, entry := range entries {
		e, ok := entry.(*mp4ff.VisualSampleEntryBox)
		if !ok {
			continue
		}
		var units [][]byte
		switch e.Type() {
		case "avc1":
			units = slices.Concat(e.AvcC.SPSnalus, e.AvcC.PPSnalus)
		case "hvc1":
			for _, a := range e.HvcC.NaluArrays {
				units = append(units, a.Nalus...)
			}
		}
		for _, u := range units {
			sets[i] = append(binary.BigEndian.AppendUint32(sets[i], uint32(len(u))), u...)
		}
	}
	return sets
}
