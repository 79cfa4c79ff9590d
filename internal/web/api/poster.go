package api

import (
	"context"
	"mime"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/video"
)

// pictureTypes are the media types that a poster is sent with.
var pictureTypes = []string{"image/jpeg", "image/png", "image/webp", "image/avif"}

// posterRoutes are the operations on the poster of a video.
type posterRoutes struct {
	pictures *pictures.Service
	catalog  *catalog.Catalog
}

func (r posterRoutes) register(t *table) {
	write := []auth.Scope{auth.Write}
	put := operation{
		id: "putPoster", route: "PUT /api/video/{id}/poster", summary: "Choose the poster: a picture, or a frame of the video", tag: "video",
		notes:  "posterUrl stays the same. An uploaded picture is reduced to 1280 pixels in width. A frame is taken from a resolution that is ready.",
		scopes: write, status: 200, errors: []int{404, 409, 413, 415, 423, 507}, parameters: []*huma.Param{videoID()}, describe: describePoster,
	}
	add(t, put, func(ctx context.Context, c *call) (*VideoFiles, error) { return r.put(ctx, c, &put) })
	add(t, operation{
		id: "deletePoster", route: "DELETE /api/video/{id}/poster", summary: "Take the automatic poster again", tag: "video",
		scopes: write, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, r.delete)
}

// describePoster describes the body, which is a picture or JSON.
func describePoster(op *huma.Operation, registry huma.Registry) {
	op.RequestBody = &huma.RequestBody{Required: true, Description: "A picture of at most 10 MiB and 64 megapixels, or a time.", Content: jsonContent(registry, reflect.TypeFor[newPoster]())}
	for _, t := range pictureTypes {
		op.RequestBody.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
}

// newPoster is the body that asks for a frame of the video.
type newPoster struct {
	TimeSeconds float64 `json:"timeSeconds" minimum:"0" doc:"When the frame is shown. After the end of the video it is the last one." example:"12.5"`
}

func (p *newPoster) check() []video.Fault {
	if p.TimeSeconds < 0 {
		return []video.Fault{{Field: "timeSeconds", Code: "out_of_range", Message: "must be 0 or more"}}
	}
	return nil
}

// longestVideo is longer than any video, in seconds.
const longestVideo = 1e8

func (r posterRoutes) put(ctx context.Context, c *call, op *operation) (*VideoFiles, error) {
	contentType := c.request.Header.Get("Content-Type")
	if contentType != "" && isJSONType(contentType) {
		in := new(newPoster)
		if err := c.decode(in, op); err != nil {
			return nil, err
		}
		at := time.Duration(min(in.TimeSeconds, longestVideo) * float64(time.Second))
		return r.answer(ctx, c, func() (video.Video, error) { return r.pictures.SetPosterTime(ctx, c.actor, c.id, at) })
	}
	if t, _, err := mime.ParseMediaType(contentType); err != nil || !slices.Contains(pictureTypes, t) {
		return nil, &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type",
			Msg: "A poster must be sent with Content-Type: image/jpeg, image/png, image/webp or image/avif, or as a time with application/json."}
	}
	picture, err := c.readUpTo(pictures.MaxUpload)
	if err != nil {
		return nil, err
	}
	return r.answer(ctx, c, func() (video.Video, error) { return r.pictures.SetPoster(ctx, c.actor, c.id, picture) })
}

func (r posterRoutes) delete(ctx context.Context, c *call) (*VideoFiles, error) {
	return r.answer(ctx, c, func() (video.Video, error) { return r.pictures.ResetPoster(ctx, c.actor, c.id) })
}

// answer changes the poster and answers with the pictures of a read. Making one takes a place for computing.
func (r posterRoutes) answer(ctx context.Context, c *call, change func() (video.Video, error)) (*VideoFiles, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	if err := c.turn.Work(ctx); err != nil {
		return nil, err
	}
	v, err := change()
	if err != nil {
		return nil, err
	}
	var out VideoFiles
	if c.actor.Require(auth.Read) == nil { // others may write, but not see what they wrote
		out = viewVideoFiles(r.catalog.FileURLs(v, base))
	}
	return &out, nil
}
