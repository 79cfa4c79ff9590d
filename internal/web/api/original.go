package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// originalRoutes are the operations on the files that were uploaded.
type originalRoutes struct{ player *playback.Player }

func (r originalRoutes) register(t *table) {
	addWithBody(t, operation{
		id: "createOriginal", route: "POST /api/video/{id}/original", summary: "Get a URL of the uploaded file", tag: "video", optionalBody: true,
		notes: "The URL sends the file as it was uploaded, under its own name, with ranges. 404 original_gone: the server has keep_source off, " +
			"and the file was removed after the encoding. 409 upload_incomplete: it has not arrived yet.",
		scopes: []auth.Scope{auth.Read}, status: 200, errors: []int{404, 409, 413, 415}, parameters: []*huma.Param{videoID()},
	}, r.create)
}

// newOriginal is the body of a request for the uploaded file.
type newOriginal struct {
	ExpiresIn int `json:"expiresIn,omitempty" minimum:"1" maximum:"31536000" default:"3600" doc:"How many seconds the URL is valid. The operator may allow less."`
}

// originalView is a file that was uploaded.
type originalView struct {
	URL       string    `json:"url" format:"uri"`
	ExpiresAt time.Time `json:"expiresAt"`
	Filename  string    `json:"filename" doc:"As it was when the video was created. Characters that a file name must not have are replaced when it is saved."`
	SizeBytes int64     `json:"sizeBytes"`
	SHA256    *string   `json:"sha256" nullable:"true" doc:"Hexadecimal. null if the bytes did not all pass through the server, as in a PUT to a bucket, or if it was killed meanwhile."`
}

// defaultOriginalLife is how long the URL is valid if the client does not say.
const defaultOriginalLife = time.Hour

func (r originalRoutes) create(ctx context.Context, c *call, in *newOriginal) (*originalView, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	life := time.Duration(in.ExpiresIn) * time.Second
	if life == 0 { // the client did not say
		life = defaultOriginalLife
	}
	o, err := r.player.Original(ctx, c.actor, c.id, life, base)
	if err != nil {
		return nil, err
	}
	return &originalView{
		URL: o.URL, ExpiresAt: o.Expires.UTC(), Filename: o.Video.Filename, SizeBytes: o.Video.Source.Size, SHA256: viewHash(o.Video),
	}, nil
}

// viewHash returns the hash of the uploaded file, or nil if it is not known.
func viewHash(v video.Video) *string {
	if v.Source.SHA256 == "" {
		return nil
	}
	return &v.Source.SHA256
}
