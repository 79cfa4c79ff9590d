package api

import (
	"cmp"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// The types of this package that have JSON tags are the wire format. Fields may be added, but not
// removed, renamed or given another meaning.

// VideoURLs are the URLs of a video for players and for people.
type VideoURLs struct {
	HLSURL   string `json:"hlsUrl,omitempty" format:"uri" doc:"For adaptive streaming: an HLS playlist of the resolutions that are ready. Answers 404 not_ready until one is."`
	DASHURL  string `json:"dashUrl,omitempty" format:"uri" doc:"The same for MPEG-DASH."`
	EmbedURL string `json:"embedUrl,omitempty" format:"uri" doc:"A page with the player alone, for an iframe. Of a private video it expires with the other URLs."`
	WatchURL string `json:"watchUrl,omitempty" format:"uri" doc:"A page for people, with title and player. Public videos only."`
}

func viewVideoURLs(u playback.URLs) VideoURLs {
	return VideoURLs{HLSURL: u.HLS, DASHURL: u.DASH, EmbedURL: u.Embed, WatchURL: u.Watch}
}

// VideoFiles are the URLs of the files that belong to no resolution.
type VideoFiles struct {
	PosterURL     string `json:"posterUrl,omitempty" format:"uri" doc:"A JPEG of a telling frame, at most 1280 pixels wide. Answers 404 not_ready until it is made, which is before status is ready. Absent if the video has none: it failed, or was made before there were posters."`
	ThumbnailURL  string `json:"thumbnailUrl,omitempty" format:"uri" doc:"Any frame as a picture: add ?time=SECONDS&width=&height=&fit=contain|cover&format=webp. Sides are 16 to 1920 pixels, and no picture is larger than the video. Without time: the moment of the poster. Answers 404 not_ready until a resolution is ready."`
	StoryboardURL string `json:"storyboardUrl,omitempty" format:"uri" doc:"WebVTT for scrubbing: each cue names a part of a JPEG, relative to this address, as file#xywh=x,y,width,height. Answers 404 not_ready until it is made, within seconds after status is ready. Absent if the video has none."`
	PreviewURL    string `json:"previewUrl,omitempty" format:"uri" doc:"A short silent animated WebP, at most 640 pixels wide and 1 MB. Made at the same time."`
}

func viewVideoFiles(files []playback.FileURL) VideoFiles {
	var out VideoFiles
	for _, f := range files {
		switch f.Name {
		case video.PosterFile:
			out.PosterURL = f.URL
		case video.ThumbnailFile:
			out.ThumbnailURL = f.URL
		case video.StoryboardFile:
			out.StoryboardURL = f.URL
		case video.PreviewFile:
			out.PreviewURL = f.URL
		}
	}
	return out
}

// VideoBasics are the first members of all views of a video.
type VideoBasics[R any] struct {
	Title          string       `json:"title" maxLength:"200" doc:"What people call the video."`
	Status         video.Status `json:"status" enum:"pending_upload,processing,ready,fail"`
	IsPublic       bool         `json:"isPublic"`
	CustomMetadata metadata     `json:"customMetadata" required:"false"`
	Resolutions    byName[R]    `json:"resolutions"`
}

func viewVideoBasics[R any](v video.Video) VideoBasics[R] {
	return VideoBasics[R]{Title: v.Title, Status: v.Status, IsPublic: v.IsPublic, CustomMetadata: metadata(v.Metadata)}
}

// VideoDetails are the last members of all views of a video.
type VideoDetails struct {
	CreatedAt       time.Time        `json:"createdAt"`
	DurationSeconds float64          `json:"durationSeconds,omitempty" doc:"Known once the file has been inspected."`
	SizeBytes       int64            `json:"sizeBytes" doc:"Of all files: what was uploaded, as usage counts it, the resolutions in all codecs, and captions and pictures without thumbnails. It grows while the files are made."`
	Progress        float64          `json:"progress" minimum:"0" maximum:"1"`
	ImportProgress  *float64         `json:"importProgress,omitempty" minimum:"0" maximum:"1" doc:"How much of the file was fetched from sourceUrl; absent for other videos. 0 while the server does not say how large it is."`
	VideosAhead     *int             `json:"videosAhead,omitempty" minimum:"0" doc:"While the video is processing and none of the work is done: how many of your other videos were completed earlier and are processed first. Absent otherwise, and if there are more than 1,000."`
	Playable        bool             `json:"playable" doc:"hlsUrl and dashUrl play from the beginning now. A long video is playable long before it is ready."`
	Profile         string           `json:"profile,omitempty" doc:"The profile with which it was made. Absent: none."`
	Watermark       *watermarkPlace  `json:"watermark,omitempty" doc:"What is laid over the pictures of the video."`
	Failure         *failure         `json:"failure,omitempty" doc:"Why status is fail."`
	ReplacedAt      *time.Time       `json:"replacedAt,omitempty" doc:"When the file was replaced last. Absent: never."`
	Replacement     *replacementView `json:"replacement,omitempty" doc:"The file that will replace this one, or that failed to; see replaceVideo. Absent otherwise."`
	Warnings        []failure        `json:"warnings,omitempty" nullable:"false" doc:"Problems of a file that was converted nevertheless, such as that it is truncated."`
}

type resolutionView struct {
	ID                 video.ResolutionID `json:"id" format:"uuid"`
	Status             video.Status       `json:"status" enum:"pending_upload,processing,ready,fail"`
	VideoURL           string             `json:"videoUrl" format:"uri" doc:"Answers 404 not_ready until status is ready."`
	ThumbnailImageURLs []string           `json:"thumbnailImageUrls" nullable:"false" format:"uri" doc:"One for each timestamp, in the order given."`
	ResolutionDetails
}

// ResolutionDetails are the last members of all views of a resolution.
type ResolutionDetails struct {
	Width     int            `json:"width,omitempty" doc:"In pixels; known once the file has been inspected."`
	Height    int            `json:"height,omitempty" doc:"In pixels; known once the file has been inspected."`
	SameAs    resolutionName `json:"sameAs,omitempty" doc:"The smallest resolution that has the same file, because the source has no more pixels or the server makes nothing larger. Absent otherwise."`
	SizeBytes int64          `json:"sizeBytes,omitempty"`
	Bitrate   int64          `json:"bitrate,omitempty" doc:"In bits per second."`
	Method    string         `json:"method,omitempty" enum:"encoded,copied" doc:"copied: its picture is the picture of the file (copySource). Known once status is ready."`
	Progress  float64        `json:"progress" minimum:"0" maximum:"1"`
	Failure   *failure       `json:"failure,omitempty" doc:"Why status is fail."`
	// Variants come last: older clients do not look for them.
	Variants []variantView `json:"variants,omitempty" nullable:"false" doc:"The resolution in each codec, H.264 first. Absent if it is made in H.264 alone."`
}

// variantView is a resolution in one codec.
type variantView struct {
	Codec     video.Codec        `json:"codec" enum:"h264,av1,hevc"`
	Status    video.Status       `json:"status" enum:"pending_upload,processing,ready,fail" doc:"The statuses of the resolution and of the video depend on h264 alone."`
	Range     video.DynamicRange `json:"dynamicRange,omitempty" enum:"sdr,pq,hlg" doc:"How bright the picture may be. Absent until the variant is made."`
	VideoURL  string             `json:"videoUrl,omitempty" format:"uri" doc:"Answers 404 not_ready until status is ready. Absent where the video is shown without URLs."`
	SizeBytes int64              `json:"sizeBytes,omitempty"`
	Bitrate   int64              `json:"bitrate,omitempty" doc:"In bits per second."`
	Progress  float64            `json:"progress" minimum:"0" maximum:"1"`
	Reason    video.Reason       `json:"reason" enum:"asked,popular" doc:"Why it is made: asked by the client or the server's setting, or popular: the video was watched much."`
	Failure   *failure           `json:"failure,omitempty" doc:"Why status is fail."`
}

// viewVariants views a resolution in each of its codecs. It returns nil if that is H.264 alone. h264 is the
// URL of its H.264 file, and others has the URLs of the other codecs.
func viewVariants(r catalog.ResolutionState, h264 string, others map[video.Codec]string) []variantView {
	if len(r.Variants) == 0 {
		return nil
	}
	all := []variantView{{
		Codec: video.H264, Status: r.Status, Range: rangeOf(r.Status, video.SDR), VideoURL: h264, SizeBytes: r.SizeBytes, Bitrate: r.Bitrate, Progress: r.Progress, Reason: video.Asked, Failure: viewFailure(r.Failure),
	}}
	for _, v := range r.Variants {
		all = append(all, variantView{
			Codec: v.Codec, Status: v.Status, Range: rangeOf(v.Status, cmp.Or(v.Range, video.SDR)), VideoURL: others[v.Codec], SizeBytes: v.SizeBytes, Bitrate: v.Bitrate, Progress: v.Progress, Reason: v.Reason, Failure: viewFailure(v.Failure),
		})
	}
	return all
}

// rangeOf returns the range of a variant that is there, and nothing for another.
func rangeOf(s video.Status, r video.DynamicRange) video.DynamicRange {
	if s != video.Ready {
		return ""
	}
	return r
}

type failure struct {
	Code    video.FailureCode `json:"code" doc:"A stable word for programs." example:"not_a_video"`
	Message string            `json:"message" doc:"A sentence for a person."`
}

func viewVideoDetails(s catalog.State) VideoDetails {
	v := s.Video
	out := VideoDetails{
		CreatedAt: v.CreatedAt.UTC(), DurationSeconds: v.Duration.Seconds(), SizeBytes: v.SizeBytes,
		Progress: s.Progress, VideosAhead: s.Ahead, Playable: v.Playable(), Failure: viewFailure(v.Failure), Replacement: viewReplacement(s.Replacement), Warnings: viewWarnings(v.Warnings),
	}
	if v.Watermark != nil {
		out.Watermark = new(viewPlace(*v.Watermark))
	}
	if v.Profile != nil {
		out.Profile = v.Profile.Name
	}
	if !v.ReplacedAt.IsZero() {
		out.ReplacedAt = new(v.ReplacedAt.UTC())
	}
	if v.Imported {
		out.ImportProgress = &v.ImportProgress
	}
	return out
}

// viewResolutionDetails views a resolution. A view without URLs passes "" and nil for the URLs.
func viewResolutionDetails(r catalog.ResolutionState, h264 string, others map[video.Codec]string) ResolutionDetails {
	return ResolutionDetails{
		Width: r.Width, Height: r.Height, SameAs: resolutionName(r.SameAs), SizeBytes: r.SizeBytes, Bitrate: r.Bitrate, Method: methodOf(r.Resolution),
		Progress: r.Progress, Failure: viewFailure(r.Failure), Variants: viewVariants(r, h264, others),
	}
}

// methodOf says how the picture of a resolution was made that is ready.
func methodOf(r video.Resolution) string {
	switch {
	case r.Status != video.Ready:
		return ""
	case r.Copied:
		return "copied"
	}
	return "encoded"
}

func viewFailure(f *video.Failure) *failure {
	if f == nil {
		return nil
	}
	return &failure{Code: f.Code, Message: f.Message}
}

// viewWarnings is never nil.
func viewWarnings(all []video.Warning) []failure {
	out := make([]failure, len(all))
	for i, w := range all {
		out[i] = failure{Code: w.Code, Message: w.Message}
	}
	return out
}

// videoStateView is the state of a video. A read with a key adds all URLs, a list adds VideoFiles. Events and
// webhooks have none, because they are the same for every client.
type videoStateView struct {
	ID       video.ID `json:"id" format:"uuid"`
	Filename string   `json:"filename"`
	VideoBasics[resolutionStateView]
	VideoRules
	VideoURLs
	VideoFiles
	VideoAudio
	Captions []captionsView `json:"captions,omitzero" nullable:"false" doc:"The captions of the video, one for each language. Absent without URLs."`
	VideoChapters
	VideoSpeech
	VideoOrigins
	VideoDetails
	Matches []matchView `json:"matches,omitempty" nullable:"false" doc:"In a list with said: where the words are said, at most 5 places. Absent elsewhere."`
}

type resolutionStateView struct {
	ID                 video.ResolutionID `json:"id" format:"uuid"`
	Status             video.Status       `json:"status" enum:"pending_upload,processing,ready,fail"`
	VideoURL           string             `json:"videoUrl,omitempty" format:"uri" doc:"Answers 404 not_ready until status is ready. Absent where the video is shown without URLs."`
	ThumbnailImageURLs []string           `json:"thumbnailImageUrls,omitzero" nullable:"false" format:"uri" doc:"One for each timestamp, in the order given. Absent where the video is shown without URLs."`
	ResolutionDetails
}

func viewState(s catalog.State) videoStateView {
	v := s.Video
	out := videoStateView{
		ID: v.ID, Filename: v.Filename, VideoBasics: viewVideoBasics[resolutionStateView](v),
		VideoAudio: viewVideoAudio(v, nil), VideoRules: viewVideoRules(v), VideoSpeech: viewSpeech(v), VideoOrigins: viewVideoOrigins(v), VideoDetails: viewVideoDetails(s),
	}
	for _, r := range s.Resolutions {
		out.Resolutions = append(out.Resolutions, named[resolutionStateView]{r.Name, resolutionStateView{
			ID: r.ID, Status: r.Status, ResolutionDetails: viewResolutionDetails(r, "", nil),
		}})
	}
	return out
}

// viewRead is viewState with all URLs.
func viewRead(p catalog.PlaybackInfo) videoStateView {
	out, whole := viewState(p.State), viewPlayback(p)
	out.VideoURLs, out.VideoFiles, out.VideoAudio = whole.VideoURLs, whole.VideoFiles, whole.VideoAudio
	out.Captions, out.VideoChapters = whole.Captions, whole.VideoChapters
	for i, r := range whole.Resolutions {
		out.Resolutions[i].value = resolutionStateView(r.value)
	}
	return out
}

// answerState is the answer of an operation that returns the state of a video.
func answerState(s catalog.State, err error) (*videoStateView, error) {
	if err != nil {
		return nil, err
	}
	return new(viewState(s)), nil
}

// answerPlayback is the answer of an operation that returns the URLs of a video.
func answerPlayback(p catalog.PlaybackInfo, err error) (*videoView, error) {
	if err != nil {
		return nil, err
	}
	return new(viewPlayback(p)), nil
}
