package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/video"
)

// replaceRoutes are the operations on a new file for a video.
type replaceRoutes struct {
	catalog *catalog.Catalog
	deleter *janitor.Deleter
}

func (r replaceRoutes) register(t *table) {
	write := []auth.Scope{auth.Write}
	addWithBody(t, operation{
		id: "replaceVideo", route: "POST /api/video/{id}/replace", summary: "Replace the file of a video", tag: "video",
		notes:  "The video stays as it is until the new file is ready. Then all of it changes at once, at the same URLs.",
		scopes: write, status: 201, errors: []int{404, 409, 413, 415, 507}, parameters: []*huma.Param{videoID(), idempotencyKey()}, check: checkIdempotencyKey,
	}, r.replace)
	add(t, operation{
		id: "giveUpReplace", route: "DELETE /api/video/{id}/replace", summary: "Give up to replace the file of a video", tag: "video",
		scopes: write, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, r.giveUp)
}

// newFile is the body of a request to replace a file.
type newFile struct {
	Filename                   string           `json:"filename" unless:"sourceUrl" required:"false" minLength:"1" maxLength:"255" doc:"As for a new video."`
	Resolutions                []resolutionName `json:"resolutions,omitempty" minItems:"1" maxItems:"100" doc:"The outputs to make. Absent: those that the video has."`
	ThumbnailTimestampsSeconds []float64        `json:"thumbnailTimestampsSeconds,omitempty" maxItems:"50" minimum:"0" doc:"When to take thumbnails, in seconds. Absent: as for the file before."`
	Upscale                    *bool            `json:"upscale,omitempty" nullable:"true" doc:"As for a new video. Absent: as for the file before."`
	SourceURL                  *string          `json:"sourceUrl,omitempty" format:"uri" maxLength:"2048" nullable:"true" doc:"The server fetches the file from here, as for a new video."`
	Trim                       *trimBody        `json:"trim,omitempty" doc:"Make only a part of the new file. Absent: all of it."`
	Codecs                     []video.Codec    `json:"codecs,omitempty" minItems:"1" maxItems:"10" enum:"h264,av1,hevc" doc:"In which codecs to make the video. Absent: as for the file before."`
	HDR                        video.HDR        `json:"hdr,omitempty" enum:"sdr,keep" doc:"As for a new video. Absent: as for the file before."`
	Profile                    *string          `json:"profile,omitempty" maxLength:"64" nullable:"true" doc:"As for a new video. Empty: none. Absent or null: as for the file before."`
	AcceptAudio                *bool            `json:"acceptAudio,omitempty" nullable:"true" doc:"As for a new video. Absent or null: as for the file before."`
	CopySource                 video.CopySource `json:"copySource,omitempty" enum:"never,auto" doc:"As for a new video. Absent: as for the file before."`
	Loudness                   video.Levelling  `json:"loudness,omitempty" enum:"keep,normalize" doc:"As for a new video. Absent: as for the file before."`
	MaxDurationSeconds         *float64         `json:"maxDurationSeconds,omitempty" minimum:"0.001" maximum:"31536000" nullable:"true" doc:"As for a new video. Absent or null: as for the file before."`
}

func (n *newFile) check() []video.Fault { return n.Trim.check() }

func (n *newFile) draft() video.Draft {
	return video.Draft{
		Filename: n.Filename, Resolutions: convertAll[video.Name](n.Resolutions), Thumbnails: n.ThumbnailTimestampsSeconds,
		Upscale: n.Upscale, SourceURL: n.SourceURL, Codecs: n.Codecs,
		Trim: n.Trim.trim(), HDR: n.HDR, Profile: n.Profile, AcceptAudio: n.AcceptAudio, CopySource: n.CopySource, Loudness: n.Loudness, MaxSeconds: n.MaxDurationSeconds,
	}
}

func (r replaceRoutes) replace(ctx context.Context, c *call, in *newFile) (*upload, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	draft := in.draft()
	draft.Key = c.request.Header.Get(video.KeyHeader)
	u, err := r.catalog.Replace(ctx, c.actor, c.id, draft, base)
	if err != nil {
		return nil, err
	}
	if u.Repeated {
		c.writer.Header().Set(headerRepeated, "true")
	}
	out := viewUpload(u)
	out.ID = c.id
	return out, nil
}

func (r replaceRoutes) giveUp(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.deleter.GiveUpReplace(ctx, c.actor, c.id)
}

// replacementView is a file on its way to a video.
type replacementView struct {
	Status   video.Status `json:"status" enum:"pending_upload,processing,ready,fail"`
	Progress float64      `json:"progress" minimum:"0" maximum:"1"`
	Failure  *failure     `json:"failure,omitempty" doc:"Why status is fail. The video has the file that it had."`
}

func viewReplacement(r *catalog.Replacement) *replacementView {
	if r == nil {
		return nil
	}
	return &replacementView{Status: r.Status, Progress: r.Progress, Failure: viewFailure(r.Failure)}
}
