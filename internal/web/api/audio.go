package api

import (
	"cmp"

	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// audioTrackView is a sound track of a video.
type audioTrackView struct {
	ID       string           `json:"id" format:"uuid"`
	Language string           `json:"language" doc:"BCP 47; und where it is not known." example:"en"`
	Label    string           `json:"label" doc:"For people. No two tracks of a video have the same." example:"English"`
	Kind     video.TrackKind  `json:"kind" enum:"main,dub,commentary,description" doc:"What people hear. description tells what is seen."`
	Source   video.FileSource `json:"source" enum:"embedded,uploaded" doc:"A track of the file, or uploaded by a client."`
	Default  bool             `json:"default" doc:"Players begin with it, and the MP4 files hold it. One track has it."`
	Status   video.Status     `json:"status" enum:"pending_upload,processing,ready,fail" doc:"No status of the video or of a resolution depends on it."`
	URL      string           `json:"url,omitempty" format:"uri" doc:"The sound alone, as .m4a. Answers 404 not_ready until status is ready. Absent where the video is shown without URLs, and of the one track of a video that was made before there were several."`
	Failure  *failure         `json:"failure,omitempty" doc:"Why status is fail."`
}

// VideoAudio is the part of a view that lists the sound tracks.
type VideoAudio struct {
	AudioTracks []audioTrackView `json:"audioTracks" nullable:"false" doc:"What viewers can choose to hear, in the order in which people see it. Empty if the video has no sound, and until the file has been inspected."`
	AudioURL    string           `json:"audioUrl,omitempty" format:"uri" doc:"The sound of the default track alone. Absent where that has no url."`
}

// viewVideoAudio views the sound tracks of a video, with their URLs as far as files has them.
func viewVideoAudio(v video.Video, files []playback.FileURL) VideoAudio {
	out := VideoAudio{AudioTracks: []audioTrackView{}} // never null
	for _, t := range v.AudioTracks() {
		one := viewTrack(v, t, files)
		if out.AudioTracks = append(out.AudioTracks, one); t.Default {
			out.AudioURL = one.URL
		}
	}
	return out
}

func viewTrack(v video.Video, t video.AudioTrack, files []playback.FileURL) audioTrackView {
	one := audioTrackView{ID: t.ID, Language: t.Language, Label: t.Label, Kind: t.Kind, Source: t.Source, Default: t.Default, Status: v.StatusOf(t)}
	for _, f := range files {
		if f.Name == t.File() {
			one.URL = f.URL
		}
	}
	if one.Status == video.Fail {
		one.Failure = viewFailure(cmp.Or(t.Failure, v.Failure))
	}
	return one
}
