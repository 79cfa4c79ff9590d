package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/service/visibility"
	"github.com/spool-video/spool/internal/video"
)

// videoRoutes are the operations on a whole video.
type videoRoutes struct {
	catalog *catalog.Catalog
	uploads *uploads.Service
	deleter *janitor.Deleter

	visibility *visibility.Service
}

func (v videoRoutes) register(t *table) {
	read, write, change := []auth.Scope{auth.Read}, []auth.Scope{auth.Write}, []auth.Scope{auth.Write, auth.Read}
	addWithBody(t, operation{
		id: "createVideo", route: "POST /api/video", summary: "Create a video upload", tag: "video",
		scopes: write, status: 201, errors: []int{409, 413, 415, 507}, parameters: []*huma.Param{idempotencyKey()}, check: checkIdempotencyKey,
	}, v.create)
	add(t, operation{
		id: "getVideo", route: "GET /api/video/{id}", summary: "Get a video", tag: "video",
		notes:  "Returns the state and, with a key, all URLs, whether the video is public or private.",
		scopes: read, status: 200, errors: []int{404}, parameters: append(described(lifeParameters(new(time.Duration))), videoID()), byToken: true,
	}, v.read)
	addWithBody(t, operation{
		id: "completeUpload", route: "POST /api/video/{id}/complete-upload", summary: "Complete a video upload", tag: "video", optionalBody: true,
		scopes: write, status: 201, errors: []int{404, 413, 415, 422, 507}, parameters: []*huma.Param{videoID()},
	}, v.complete)
	add(t, operation{
		id: "retryImport", route: "POST /api/video/{id}/import", summary: "Fetch the file of a video again", tag: "video",
		scopes: change, status: 200, errors: []int{404, 409}, parameters: []*huma.Param{videoID()},
	}, v.retryImport)
	add(t, operation{
		id: "getPublicVideo", route: "GET /api/video/{id}/public", summary: "Get a public video", tag: "video",
		scopes: read, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, v.public)
	add(t, operation{
		id: "getPrivateVideo", route: "GET /api/video/{id}/private/{expirationSeconds}", summary: "Get a private video", tag: "video",
		scopes: read, status: 200, errors: []int{404}, parameters: append([]*huma.Param{videoID(), expiration()}, described(partParameters(new(string), new(string)))...), check: checkExpiration,
		notes: "With start or end, hlsUrl and dashUrl play that part of the video and nothing else, cut at segments. All other URLs of the answer are refused with 403 preview_only.",
	}, v.private)
	addWithBody(t, operation{
		id: "editVideo", route: "PATCH /api/video/{id}", summary: "Change what is said about a video", tag: "video",
		scopes: change, status: 200, errors: []int{404, 413, 415, 507}, parameters: []*huma.Param{videoID()},
	}, v.edit)
	add(t, operation{
		id: "deleteVideo", route: "DELETE /api/video/{id}", summary: "Delete a video", tag: "video",
		scopes: []auth.Scope{auth.Delete}, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, v.delete)
}

// newVideo is the body of a create request.
type newVideo struct {
	Filename                   string            `json:"filename" unless:"sourceUrl,clip" required:"false" minLength:"1" maxLength:"255" doc:"A label. Its extension decides the upload's content type. Required unless there is a sourceUrl, whose last part is the default, or a clip." example:"holiday.mp4"`
	Title                      string            `json:"title,omitempty" maxLength:"200" nullable:"true" doc:"What people call the video. Absent, null or empty: the filename without its extension."`
	Resolutions                []resolutionName  `json:"resolutions" unless:"sourceUrl,clip,profile" required:"false" minItems:"1" maxItems:"100" nullable:"false" doc:"The outputs to make. Duplicates are ignored. Required unless there is a sourceUrl, a clip or a profile; the default is the sizes of the profile, or else the server's."`
	IsPublic                   bool              `json:"isPublic" doc:"Public videos have permanent URLs, private ones signed URLs that expire."`
	ThumbnailTimestampsSeconds []float64         `json:"thumbnailTimestampsSeconds,omitempty" maxItems:"50" minimum:"0" doc:"When to take thumbnails, in seconds."`
	CustomMetadata             metadata          `json:"customMetadata,omitempty" doc:"Anything, up to 16 KiB of JSON; returned on reads."`
	Tags                       []string          `json:"tags,omitempty" maxItems:"100" nullable:"true" doc:"Words by which the video is found again: at most 50 of 1 to 64 characters. Spaces around them are removed, case tells them apart, and repetitions count once."`
	ExpiresAt                  *moment           `json:"expiresAt,omitempty" nullable:"true" doc:"When the video is deleted, at the latest a minute later. Absent or null: never."`
	Upscale                    *bool             `json:"upscale,omitempty" nullable:"true" doc:"Upscale sources that are smaller than the requested size, within the limits of the server."`
	SourceURL                  *string           `json:"sourceUrl,omitempty" format:"uri" maxLength:"2048" nullable:"true" doc:"The server fetches the file from here instead of waiting for an upload, and completes it by itself: https, of the public internet unless the operator allows more." example:"https://example.com/holiday.mp4"`
	Trim                       *trimBody         `json:"trim,omitempty" doc:"Make only a part of the file. All other times of the video count from the start of the part."`
	Clip                       *clipBody         `json:"clip,omitempty" doc:"Make a part of another video; there is nothing to upload then. Needs the scope read, too."`
	Codecs                     []video.Codec     `json:"codecs,omitempty" minItems:"1" maxItems:"10" enum:"h264,av1,hevc" doc:"In which codecs to make the video. h264 is always made, named or not. Others follow when the video is ready, when the server has nothing else to do, and no status waits for them. Absent: the server's default, mostly h264 alone."`
	HDR                        video.HDR         `json:"hdr,omitempty" enum:"sdr,keep" doc:"What becomes of a source in HDR (PQ or HLG). keep: av1 and hevc keep its brightness and its colours, with 10 bits, for screens that can show them; codecs must name one of them. sdr: they are made for ordinary screens, as H.264 always is. Absent: the server's default, mostly sdr."`
	Profile                    *string           `json:"profile,omitempty" maxLength:"64" nullable:"true" doc:"The name of a ladder that the operator has prepared: bitrates, frame rates and sizes. getKey lists the names. Absent, null or empty: none." example:"course"`
	AcceptAudio                *bool             `json:"acceptAudio,omitempty" nullable:"true" doc:"Accept a file with sound and no picture (mp3, m4a, flac, ogg, wav, …), too. Its cover, or else its waveform, is the picture of the video. Absent or null: the server's default, mostly false."`
	CopySource                 video.CopySource  `json:"copySource,omitempty" enum:"never,auto" doc:"Whether the picture of the file may be copied instead of being encoded. auto: the resolution at the size of the file is the picture of the file, where that plays everywhere as it is: H.264 in 8-bit 4:2:0 for ordinary screens, progressive, upright, with a keyframe at least every 10 seconds and a bitrate that is not too high. The report says why not. never: all is encoded. Absent: the default of the server."`
	Loudness                   video.Levelling   `json:"loudness,omitempty" enum:"keep,normalize" doc:"What becomes of the loudness of the sound. normalize: every track gets one constant gain, so that all of them are as loud as the server's setting says, mostly -16 LUFS, and no true peak is above -1 dBTP. keep: it stays as it is. Absent: the server's default, mostly keep."`
	MaxDurationSeconds         *float64          `json:"maxDurationSeconds,omitempty" minimum:"0.001" maximum:"31536000" nullable:"true" doc:"A longer video fails with too_long before anything is made of it. Absent or null: any length that the server takes."`
	AllowedOrigins             []string          `json:"allowedOrigins,omitempty" maxItems:"50" nullable:"true" doc:"The sites on which the video may be played: hosts such as example.com, *.example.com, https://app.example.com:8443. Absent or null: everywhere. Empty: only in the pages of this server." example:"[\"example.com\"]"`
	AllowNoOrigin              bool              `json:"allowNoOrigin,omitempty" doc:"With allowedOrigins: apps and native players, whose requests name no site, may play the video, too."`
	Transcribe                 *transcribeChoice `json:"transcribe,omitempty" doc:"Write down what is said, as captions: true, or the language that is spoken (BCP 47). It is made after the video is ready, in spare time, and no status waits for it. Absent: the server's default."`
	Translate                  []string          `json:"translate,omitempty" maxItems:"20" nullable:"true" doc:"With transcribe: the languages into which that is translated (BCP 47)." example:"[\"de\"]"`
	Watermark                  *watermarkChoice  `json:"watermark,omitempty" null:"zero" doc:"A picture that is laid over everything that is made of the video. Absent: the usual one of your tenant, if it has one. null: none."`
}

func (n *newVideo) draft() video.Draft {
	return video.Draft{
		Watermark: n.Watermark.choice(),
		Filename:  n.Filename, Title: n.Title, Resolutions: convertAll[video.Name](n.Resolutions), IsPublic: n.IsPublic, Thumbnails: n.ThumbnailTimestampsSeconds,
		Metadata: json.RawMessage(n.CustomMetadata), Upscale: n.Upscale, SourceURL: n.SourceURL, Codecs: n.Codecs,
		Tags: n.Tags, ExpiresAt: (*time.Time)(n.ExpiresAt), MaxSeconds: n.MaxDurationSeconds, HDR: n.HDR, Profile: n.Profile, AcceptAudio: n.AcceptAudio, CopySource: n.CopySource, Loudness: n.Loudness,
		Trim: n.Trim.trim(), Clip: n.Clip.clip(), Transcribe: n.Transcribe.choice(), Translate: n.Translate,
		AllowedOrigins: n.AllowedOrigins, AllowNoOrigin: n.AllowNoOrigin,
	}
}

func (n *newVideo) check() []video.Fault {
	d := n.draft()
	return slices.Concat(d.Check(), n.Trim.check(), n.Clip.check())
}

func idempotencyKey() *huma.Param {
	return &huma.Param{Name: video.KeyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(video.MaxKey)},
		Description: "A key of your choice for this request. The same request with the same key within 24 hours returns the same video."}
}

func checkIdempotencyKey(r *http.Request) []video.Fault {
	return video.CheckKey(r.Header.Get(video.KeyHeader))
}

// upload answers a create request.
type upload struct {
	ID              video.ID                 `json:"id" format:"uuid"`
	UploadURL       string                   `json:"uploadUrl,omitempty" format:"uri" doc:"PUT the original file here, with exactly the Content-Type given. Absent for a video with a sourceUrl or a clip."`
	ContentType     string                   `json:"contentType"`
	IsPublic        bool                     `json:"isPublic"`
	Resolutions     byName[resolutionStatus] `json:"resolutions"`
	UploadExpiresAt *time.Time               `json:"uploadExpiresAt,omitempty" doc:"When uploadUrl stops working. Absent for a video with a sourceUrl or a clip."`
	MaxUploadBytes  int64                    `json:"maxUploadBytes,omitempty" doc:"The largest file that is accepted in one PUT. Absent for a video with a sourceUrl or a clip."`
	TusURL          string                   `json:"tusUrl,omitempty" format:"uri" doc:"For a resumable upload with tus 1.0, instead of uploadUrl. Absent for a video with a sourceUrl or a clip."`
}

// headerRepeated says that an earlier request created the video.
const headerRepeated = "Idempotency-Replayed"

func (v videoRoutes) create(ctx context.Context, c *call, in *newVideo) (*upload, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	draft := in.draft()
	draft.Key = c.request.Header.Get(video.KeyHeader)
	u, err := v.catalog.Create(ctx, c.actor, draft, base)
	if err != nil {
		return nil, err
	}
	if u.Repeated {
		c.writer.Header().Set(headerRepeated, "true")
	}
	return viewUpload(u), nil
}

func viewUpload(u catalog.Upload) *upload {
	v := u.Video
	out := &upload{ID: v.ID, ContentType: v.ContentType, IsPublic: v.IsPublic, Resolutions: viewStatuses(v.Resolutions)}
	if u.URL != "" { // the file of an import or a clip is not uploaded
		expires := v.UploadExpiresAt.UTC()
		out.UploadURL, out.UploadExpiresAt, out.MaxUploadBytes, out.TusURL = u.URL, &expires, u.MaxBytes, u.TusURL
	}
	return out
}

// resolutionStatus is what create and complete return for each resolution.
type resolutionStatus struct {
	Status video.Status `json:"status" enum:"pending_upload,processing,ready,fail"`
}

func viewStatuses(resolutions []video.Resolution) byName[resolutionStatus] {
	var out byName[resolutionStatus]
	for _, r := range resolutions {
		out = append(out, named[resolutionStatus]{r.Name, resolutionStatus{Status: r.Status}})
	}
	return out
}

// completion is the body of a complete request. Its only field is reserved: it must have the right type and is
// otherwise ignored.
type completion struct {
	Checksum *string `json:"checksum,omitempty" nullable:"true" doc:"Reserved; leave it out."`
}

// completedUpload answers a complete request.
type completedUpload struct {
	ID          video.ID                 `json:"id" format:"uuid"`
	IsPublic    bool                     `json:"isPublic"`
	Resolutions byName[resolutionStatus] `json:"resolutions"`
}

func (v videoRoutes) complete(ctx context.Context, c *call, _ *completion) (*completedUpload, error) {
	done, err := v.uploads.Complete(ctx, c.actor, c.id)
	if err != nil {
		return nil, err
	}
	return &completedUpload{ID: c.id, IsPublic: done.IsPublic, Resolutions: viewStatuses(done.Resolutions)}, nil
}

func (v videoRoutes) retryImport(ctx context.Context, c *call) (*videoStateView, error) {
	return answerState(v.catalog.RetryImport(ctx, c.actor, c.id))
}

// defaultURLLife is how long the URLs of a private video are valid if the client does not say.
const defaultURLLife = time.Hour

// lifeParameters are the query parameters of a read.
func lifeParameters(life *time.Duration) []parameter {
	const name = "expiresIn"
	return []parameter{{
		name: name, doc: "How many seconds the URLs of a private video are valid.",
		schema: &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(1.0), Maximum: new(float64(maxExpirationSeconds)), Default: int(defaultURLLife / time.Second)},
		decode: func(s string) []video.Fault {
			var err error
			*life, err = parseExpiration(name, s)
			return faultsIn(err)
		},
	}}
}

func (v videoRoutes) read(ctx context.Context, c *call) (*videoStateView, error) {
	life := defaultURLLife
	if err := c.query(lifeParameters(&life)); err != nil {
		return nil, err
	}
	if c.actor.Video != "" { // the holder of a token follows the video, and gets no URLs
		return answerState(v.catalog.State(ctx, c.actor, c.id))
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	p, err := v.catalog.Read(ctx, c.actor, c.id, life, base)
	if err != nil {
		return nil, err
	}
	return new(viewRead(p)), nil
}

func (v videoRoutes) public(ctx context.Context, c *call) (*videoView, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	return answerPlayback(v.catalog.Public(ctx, c.actor, c.id, base))
}

func (v videoRoutes) private(ctx context.Context, c *call) (*videoView, error) {
	ttl, err := parseExpiration("expirationSeconds", c.request.PathValue("expirationSeconds"))
	if err != nil {
		return nil, err
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	var start, end string
	if err := c.query(partParameters(&start, &end)); err != nil {
		return nil, err
	}
	part, faults := playback.ParsePart(start, end)
	if faults != nil {
		return nil, video.InvalidFields(faults...)
	}
	return answerPlayback(v.catalog.Preview(ctx, c.actor, c.id, ttl, base, part))
}

const maxExpirationSeconds = int(auth.MaxSignedLife / time.Second)

func expiration() *huma.Param {
	return pathParameter("expirationSeconds", "How long the signed URLs stay valid: 1 to 31536000 seconds.", &huma.Schema{
		Type: huma.TypeInteger, Format: "int32", Minimum: new(1.0), Maximum: new(float64(maxExpirationSeconds)), Examples: []any{3600},
	})
}

func checkExpiration(r *http.Request) []video.Fault {
	_, err := parseExpiration("expirationSeconds", r.PathValue("expirationSeconds"))
	return faultsIn(err)
}

var expirationShape = regexp.MustCompile(`^[1-9][0-9]{0,7}$`)

// parseExpiration parses how long signed URLs shall be valid, as a field of the request says.
func parseExpiration(field, s string) (time.Duration, error) {
	n, err := strconv.Atoi(s)
	if err != nil || !expirationShape.MatchString(s) || n > maxExpirationSeconds {
		return 0, video.InvalidFields(video.Fault{Field: field, Code: "out_of_range", Message: fmt.Sprintf("must be a whole number from 1 to %d", maxExpirationSeconds)})
	}
	return time.Duration(n) * time.Second, nil
}

// videoEdit is the body of a request that changes a video. In it, null is a value: it takes back what was given.
type videoEdit struct {
	Title          *string   `json:"title,omitempty" maxLength:"200" nullable:"true" null:"zero" doc:"The new title. null or empty: the filename without its extension."`
	CustomMetadata *metadata `json:"customMetadata,omitempty" nullable:"true" null:"zero" doc:"Replaces all metadata. null removes it."`
	Tags           *[]string `json:"tags,omitempty" maxItems:"100" nullable:"true" null:"zero" doc:"Replaces all tags. null removes them."`
	ExpiresAt      *moment   `json:"expiresAt,omitempty" nullable:"true" null:"zero" doc:"When the video is deleted, at the latest a minute later. null: never."`
	IsPublic       *bool     `json:"isPublic,omitempty" doc:"Makes the video public or private. Its files move, which takes seconds if they are large, and all earlier URLs are dead when the answer is sent. The answer has the new ones; URLs of a private video live an hour."`
	AllowedOrigins *[]string `json:"allowedOrigins,omitempty" maxItems:"50" nullable:"true" null:"zero" doc:"The sites on which the video may be played, as in a create request. null: everywhere."`
	AllowNoOrigin  *bool     `json:"allowNoOrigin,omitempty" doc:"Requests that name no site may play the video, too."`
}

func (e *videoEdit) edit() video.Edit {
	return video.Edit{Title: e.Title, Metadata: (*json.RawMessage)(e.CustomMetadata), Tags: e.Tags, ExpiresAt: (*time.Time)(e.ExpiresAt), IsPublic: e.IsPublic,
		AllowedOrigins: e.AllowedOrigins, AllowNoOrigin: e.AllowNoOrigin}
}

func (e *videoEdit) check() []video.Fault { return e.edit().Check() }

func (v videoRoutes) edit(ctx context.Context, c *call, in *videoEdit) (*videoStateView, error) {
	if in.IsPublic == nil {
		return answerState(v.catalog.Edit(ctx, c.actor, c.id, in.edit()))
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	if _, err := v.catalog.Edit(ctx, c.actor, c.id, in.edit()); err != nil {
		return nil, err
	}
	if err := v.visibility.Set(ctx, c.actor, c.id, *in.IsPublic); err != nil {
		return nil, err
	}
	p, err := v.catalog.Read(ctx, c.actor, c.id, defaultURLLife, base)
	if err != nil {
		return nil, err
	}
	return new(viewRead(p)), nil
}

func (v videoRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	return nil, v.deleter.DeleteVideo(ctx, c.actor, c.id)
}
