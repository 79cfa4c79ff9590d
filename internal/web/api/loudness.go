package api

import "github.com/spool-video/spool/internal/video"

// soundView is what a report says about a sound track.
type soundView struct {
	ID       string           `json:"id" format:"uuid"`
	Language string           `json:"language" doc:"BCP 47; und where it is not known." example:"en"`
	Label    string           `json:"label" doc:"For people." example:"English"`
	Kind     video.TrackKind  `json:"kind" enum:"main,dub,commentary,description"`
	Source   video.FileSource `json:"source" enum:"embedded,uploaded"`
	Default  bool             `json:"default"`
	Status   video.Status     `json:"status" enum:"pending_upload,processing,ready,fail"`
	Loudness *loudnessView    `json:"loudness,omitempty" doc:"Absent until it is measured, and of tracks that were made before there was this."`
}

// loudnessView is how loud a track is in its file, before the gain.
type loudnessView struct {
	Integrated *float64 `json:"integrated" nullable:"true" doc:"Integrated loudness by EBU R 128, in LUFS. null: silence, or less than 0.4 s." example:"-23.1"`
	Range      *float64 `json:"range" nullable:"true" doc:"Loudness range, in LU. null as integrated, and below 4 s." example:"6.2"`
	TruePeak   *float64 `json:"truePeak" nullable:"true" doc:"The highest true peak, in dBTP. null: digital silence." example:"-3.4"`
	Gain       float64  `json:"gain" doc:"By how many dB the track was made louder, from its beginning to its end. 0 where its loudness was kept." example:"7.1"`
}

func viewLoudness(l *video.Loudness) *loudnessView {
	if l == nil {
		return nil
	}
	return &loudnessView{Integrated: l.Integrated, Range: l.Range, TruePeak: l.TruePeak, Gain: l.Gain}
}

func viewSounds(v video.Video) []soundView {
	all := []soundView{}
	for _, t := range v.AudioTracks() {
		all = append(all, soundView{t.ID, t.Language, t.Label, t.Kind, t.Source, t.Default, v.StatusOf(t), viewLoudness(t.Loudness)})
	}
	return all
}
