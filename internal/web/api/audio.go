package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/language"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/sound"
	"github.com/spool-video/spool/internal/video"
)

// audioRoutes are the operations on the sound tracks of a video.
type audioRoutes struct {
	sound   *sound.Service
	catalog *catalog.Catalog
}

func (r audioRoutes) register(t *table) {
	write := []auth.Scope{auth.Write}
	track := pathParameter("trackId", "The id of the track, from audioTracks.", &huma.Schema{Type: huma.TypeString, Format: "uuid"})
	kinds := []any{video.MainTrack, video.Dub, video.Commentary, video.Description}
	post := operation{
		id: "addAudio", route: "POST /api/video/{id}/audio", summary: "Add a sound track: a dub, a comment, a description", tag: "video",
		notes:  "Silence is added where it is shorter than the video, and what is longer is cut off. The answer does not wait until it is made: its status is processing.",
		scopes: write, status: 201, errors: []int{404, 409, 413, 507}, describe: describeAudio,
		parameters: []*huma.Param{
			videoID(),
			{Name: "language", In: "query", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(35)}, Description: "BCP 47, such as en or pt-BR. Default: und. With JSON it is in the body, as the others are."},
			{Name: "label", In: "query", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(language.MaxLabel)}, Description: "What people see in a menu. Default: the name of the language."},
			{Name: "kind", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: kinds}, Description: "What people hear. Default: dub."},
		},
	}
	add(t, post, func(ctx context.Context, c *call) (*audioTrackView, error) { return r.add(ctx, c, &post) })
	addWithBody(t, operation{
		id: "changeAudio", route: "PATCH /api/video/{id}/audio/{trackId}", summary: "Change a sound track", tag: "video",
		notes:  "With default, players begin with it. The MP4 files are made again with it, without encoding, and replaced a little later.",
		scopes: write, status: 200, errors: []int{404, 409}, parameters: []*huma.Param{videoID(), track},
	}, r.change)
	add(t, operation{
		id: "deleteAudio", route: "DELETE /api/video/{id}/audio/{trackId}", summary: "Delete a sound track", tag: "video",
		scopes: write, status: 200, errors: []int{404, 409}, parameters: []*huma.Param{videoID(), track},
	}, r.delete)
}

// describeAudio describes the body, which is a file or JSON.
func describeAudio(op *huma.Operation, registry huma.Registry) {
	op.RequestBody = &huma.RequestBody{Required: true, Description: "Any file with sound, at most 2 GiB; or JSON that says where it is.", Content: jsonContent(registry, reflect.TypeFor[newAudio]())}
	for _, t := range []string{"audio/*", "video/*", "application/octet-stream"} {
		op.RequestBody.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
}

// newAudio asks for a sound track of the file at an address.
type newAudio struct {
	SourceURL string          `json:"sourceUrl" format:"uri" maxLength:"2048" doc:"Where the file is fetched from."`
	Language  string          `json:"language,omitempty" maxLength:"35" doc:"BCP 47, such as en or pt-BR. Default: und."`
	Label     string          `json:"label,omitempty" maxLength:"100" doc:"What people see in a menu. Default: the name of the language."`
	Kind      video.TrackKind `json:"kind,omitempty" enum:"main,dub,commentary,description" doc:"What people hear. Default: dub."`
}

// audioChange is the body of a change.
type audioChange struct {
	Language *string          `json:"language,omitempty" maxLength:"35" doc:"BCP 47."`
	Label    *string          `json:"label,omitempty" maxLength:"100" doc:"A number is added where another track has the same; an empty one takes the name of the language."`
	Kind     *video.TrackKind `json:"kind,omitempty" enum:"main,dub,commentary,description"`
	Default  *bool            `json:"default,omitempty" doc:"true: players begin with this track. To end that, make another one the default."`
}

func (a *audioChange) check() []video.Fault {
	if a.Default != nil && !*a.Default {
		return []video.Fault{{Field: "default", Code: "out_of_range", Message: "must be true: make another track the default"}}
	}
	return nil
}

// bodyIdle is how long a client may send nothing of a file.
const bodyIdle = time.Minute

// patientBody is a large body, which may take as long as it likes but for pauses.
type patientBody struct {
	io.Reader
	control *http.ResponseController
}

func (b patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(bodyIdle))
	return b.Reader.Read(p)
}

func (r audioRoutes) add(ctx context.Context, c *call, op *operation) (*audioTrackView, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	var v video.Video
	var t video.AudioTrack
	if kind := c.request.Header.Get("Content-Type"); kind != "" && isJSONType(kind) {
		in := new(newAudio)
		if err := c.decode(in, op); err != nil {
			return nil, err
		}
		v, t, err = r.sound.Fetch(ctx, c.actor, c.id, sound.Names{Language: in.Language, Label: in.Label, Kind: in.Kind}, in.SourceURL)
	} else {
		query := c.request.URL.Query()
		names := sound.Names{Language: query.Get("language"), Label: query.Get("label"), Kind: video.TrackKind(query.Get("kind"))}
		control := http.NewResponseController(c.writer)
		// One byte more is read than is accepted, so that a file that is too large is told from one that is not.
		body := http.MaxBytesReader(c.writer, c.request.Body, pipeline.MaxTrackBytes+1)
		v, t, err = r.sound.Add(ctx, c.actor, c.id, names, patientBody{body, control}, c.request.ContentLength)
		_ = control.SetReadDeadline(time.Time{})
	}
	return r.answer(c, v, t, base, err)
}

// answer views a track. Others than readers may write, but do not see what they wrote.
func (r audioRoutes) answer(c *call, v video.Video, t video.AudioTrack, base string, err error) (*audioTrackView, error) {
	if err != nil {
		return nil, err
	}
	var files []playback.FileURL
	if c.actor.Require(auth.Read) == nil {
		files = r.catalog.FileURLs(v, base)
	}
	return new(viewTrack(v, t, files)), nil
}

func (r audioRoutes) change(ctx context.Context, c *call, in *audioChange) (*audioTrackView, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	id, err := trackID(c)
	if err != nil {
		return nil, err
	}
	v, t, err := r.sound.Edit(ctx, c.actor, c.id, id, sound.Edit{Language: in.Language, Label: in.Label, Kind: in.Kind, Default: in.Default != nil})
	return r.answer(c, v, t, base, err)
}

func (r audioRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	id, err := trackID(c)
	if err != nil {
		return nil, err
	}
	return nil, r.sound.Delete(ctx, c.actor, c.id, id)
}

func trackID(c *call) (string, error) {
	id, err := video.ParseID("trackId", c.request.PathValue("trackId"))
	return string(id), err
}

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
