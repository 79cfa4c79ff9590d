package api

import (
	"context"
	"mime"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/video"
)

// markTypes are the media types that a watermark is sent with.
var markTypes = []string{"image/png", "image/webp"}

// watermarkRoutes are the operations on the watermarks of a tenant.
type watermarkRoutes struct {
	watermarks *watermarks.Service
	pictures   *pictures.Service
}

func (r watermarkRoutes) register(t *table) {
	id := []*huma.Param{pathID("The id of the watermark.")}
	add(t, operation{
		id: "addWatermark", route: "POST /api/watermark", summary: "Add a watermark", tag: "tenant",
		notes:  "Videos get it that name it when they are created, or all videos of the tenant, if the operator makes it the usual one.",
		scopes: []auth.Scope{auth.Write}, status: 201, errors: []int{409, 413, 415, 507}, costly: true,
		parameters: []*huma.Param{{Name: "name", In: "query", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(100)}, Description: "What people call it. Default: Watermark."}},
		describe:   describePicture,
	}, r.add)
	add(t, operation{
		id: "listWatermarks", route: "GET /api/watermark", summary: "List the watermarks of your tenant", tag: "tenant",
		scopes: []auth.Scope{auth.Read}, status: 200,
	}, r.list)
	add(t, operation{
		id: "deleteWatermark", route: "DELETE /api/watermark/{id}", summary: "Delete a watermark", tag: "tenant",
		notes:  "Videos that have it keep it.",
		scopes: []auth.Scope{auth.Delete}, status: 200, errors: []int{404}, parameters: id,
	}, r.delete)
}

// describePicture describes the body, which is not JSON.
func describePicture(op *huma.Operation, _ huma.Registry) {
	op.RequestBody = &huma.RequestBody{Required: true, Description: "A picture, mostly with transparent parts; at most 2 MiB and 4096 × 4096 pixels.", Content: map[string]*huma.MediaType{}}
	for _, t := range markTypes {
		op.RequestBody.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
}

// watermarkView is a watermark of a tenant.
type watermarkView struct {
	ID        video.WatermarkID `json:"id" format:"uuid"`
	Name      string            `json:"name" doc:"For people."`
	Width     int               `json:"width" doc:"Of the picture, in pixels."`
	Height    int               `json:"height" doc:"Of the picture, in pixels."`
	CreatedAt time.Time         `json:"createdAt"`
}

func viewWatermark(w watermarks.Watermark) watermarkView {
	return watermarkView{ID: w.ID, Name: w.Name, Width: w.Width, Height: w.Height, CreatedAt: w.CreatedAt.UTC()}
}

type watermarkList struct {
	Watermarks []watermarkView `json:"watermarks" nullable:"false" doc:"Oldest first."`
}

func (r watermarkRoutes) add(ctx context.Context, c *call) (*watermarkView, error) {
	if t, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type")); err != nil || !slices.Contains(markTypes, t) {
		return nil, &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type",
			Msg: "A watermark must be sent with Content-Type: image/png or image/webp."}
	}
	file, err := c.readUpTo(watermarks.MaxSize)
	if err != nil {
		return nil, err
	}
	if err := c.turn.Work(ctx); err != nil {
		return nil, err
	}
	picture, err := r.pictures.Watermark(ctx, file)
	if err != nil {
		return nil, err
	}
	w, err := r.watermarks.Add(ctx, c.actor, c.request.URL.Query().Get("name"), picture)
	if err != nil {
		return nil, err
	}
	return new(viewWatermark(w)), nil
}

func (r watermarkRoutes) list(ctx context.Context, c *call) (*watermarkList, error) {
	all, err := r.watermarks.List(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	out := watermarkList{make([]watermarkView, len(all))}
	for i, w := range all {
		out.Watermarks[i] = viewWatermark(w)
	}
	return &out, nil
}

func (r watermarkRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.watermarks.Delete(ctx, c.actor, video.WatermarkID(c.id))
}

// watermarkChoice is what a new video says about its watermark.
type watermarkChoice struct {
	ID       video.WatermarkID `json:"id" format:"uuid" doc:"The id of a watermark of your tenant."`
	Position *video.Position   `json:"position,omitempty" enum:"top-left,top,top-right,left,center,right,bottom-left,bottom,bottom-right" nullable:"true" doc:"Where it is. Default: bottom-right."`
	Width    *float64          `json:"width,omitempty" minimum:"0.02" maximum:"1" nullable:"true" doc:"Its width, as a share of the width of the picture. Default: 0.15. One that would be too tall is made smaller."`
	Margin   *float64          `json:"margin,omitempty" minimum:"0" maximum:"0.5" nullable:"true" doc:"How far it is from the edges, as a share of the width of the picture. Default: 0.03."`
	Opacity  *float64          `json:"opacity,omitempty" minimum:"0" maximum:"1" nullable:"true" doc:"Default: 1, which is opaque where the picture is."`
}

// Schema describes a choice, or null. huma itself cannot describe an object that may be null.
func (watermarkChoice) Schema(r huma.Registry) *huma.Schema {
	type chosenWatermark watermarkChoice // without this method
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[chosenWatermark](), true, "WatermarkChoice"), {Type: "null"}}}
}

// choice is nil where nothing was said.
func (w *watermarkChoice) choice() *video.WatermarkChoice {
	if w == nil {
		return nil
	}
	return new(video.WatermarkChoice(*w))
}

// watermarkPlace is the watermark of a video.
type watermarkPlace struct {
	ID       video.WatermarkID `json:"id" format:"uuid" doc:"It may have been deleted since."`
	Position video.Position    `json:"position" enum:"top-left,top,top-right,left,center,right,bottom-left,bottom,bottom-right"`
	Width    float64           `json:"width" doc:"As a share of the width of the picture."`
	Margin   float64           `json:"margin" doc:"As a share of the width of the picture."`
	Opacity  float64           `json:"opacity"`
}

func viewPlace(w video.Watermark) watermarkPlace {
	return watermarkPlace{ID: w.ID, Position: w.Position, Width: w.Width, Margin: w.Margin, Opacity: w.Opacity}
}
