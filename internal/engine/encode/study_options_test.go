package encode

import "slices"

// optionSets is what the study tries with -options: presets, and single changes to them. Their CRF are such
// that they come close to veryfast at CRF 23.
var optionSets = slices.Concat(
	x264Sets("veryfast", 23, "", "trellis=1", "rc-lookahead=20", evenly, "trellis=1:"+evenly, "trellis=1:me=dia:"+evenly, "trellis=1:"+brief+evenly, "trellis=1:subme=6:psy=0"),
	x264Sets("faster", 24, "", "aq-mode=0", "aq-mode=2", "aq-mode=3", "aq-strength=0.6", "aq-strength=0.3", evenly, "aq-mode=2:aq-strength=0.5", "psy=0", "trellis=0", "trellis=2",
		"subme=2", "subme=6", "subme=6:psy=0", "rc-lookahead=10", "rc-lookahead=40", "b-adapt=2", "bframes=5", "mbtree=0",
		"qcomp=0.5", "qcomp=0.7", "ref=1", "me=dia", "weightp=2", "deblock=1,1", "deblock=-1,-1"),
	x264Sets("fast", 25, ""), x264Sets("medium", 25, "", "psy=0", evenly), x264Sets("slow", 25, "", evenly),
	svtSets("13", 35, "", "enable-tf=0"),
	svtSets("12", 35, "", "enable-tf=0", "tune=0", "scm=0", "scm=1", "lookahead=0", "fast-decode=1", "enable-tf=0:enable-cdef=0"),
	svtSets("11", 36, ""), svtSets("10", 37, ""), svtSets("8", 40, ""),
)

func x264Sets(preset string, crf float64, options ...string) []optionSet {
	return setsOf("libx264", "x264", preset, crf, options)
}

func svtSets(preset string, crf float64, options ...string) []optionSet {
	return setsOf("libsvtav1", "SVT-AV1", preset, crf, options)
}

func setsOf(encoder, title, preset string, crf float64, options []string) (all []optionSet) {
	with := encoders[slices.IndexFunc(encoders, func(e codecEncoder) bool { return e.name == encoder })]
	for _, o := range options {
		name := title + " " + preset
		if o != "" {
			name += ", " + o
		}
		all = append(all, optionSet{name: name, encoder: with, effort: effort{preset: preset, crf: crf, options: o}})
	}
	return all
}
