package api

import (
	"context"
	"mime"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// captionsTypes are the media types that captions are sent with.
var captionsTypes = []string{"text/vtt", "application/x-subrip", "text/plain"}

// captionRoutes are the operations on the captions of a video.
type captionRoutes struct {
	captions *captions.Service
	catalog  *catalog.Catalog
}

func (r captionRoutes) register(t *table) {
	write := []auth.Scope{auth.Write}
	language := pathParameter("language", "The language (BCP 47), such as en, de-AT or zh-Hant. It is normalised: eng is en.",
		&huma.Schema{Type: huma.TypeString, MaxLength: new(35), Examples: []any{"en"}})
	add(t, operation{
		id: "putCaptions", route: "PUT /api/video/{id}/captions/{language}", summary: "Add or replace the captions of a language", tag: "video",
		scopes: write, status: 200, errors: []int{404, 409, 413, 415, 507},
		parameters: []*huma.Param{
			{Name: "label", In: "query", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(100)}, Description: "What people see in a menu. Default: the name of the language."},
			{Name: "kind", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"subtitles", "captions"}}, Description: "subtitles (default), or captions for people who do not hear the sound."},
			videoID(), language,
		},
		describe: describePut,
	}, r.put)
	add(t, operation{
		id: "deleteCaptions", route: "DELETE /api/video/{id}/captions/{language}", summary: "Delete the captions of a language", tag: "video",
		scopes: write, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID(), language},
	}, r.delete)
}

// describePut describes the body, which is not JSON, and that there are two answers.
func describePut(op *huma.Operation, _ huma.Registry) {
	op.RequestBody = &huma.RequestBody{Required: true, Description: "WebVTT or SubRip, UTF-8, at most 2 MiB.", Content: map[string]*huma.MediaType{}}
	for _, t := range captionsTypes {
		op.RequestBody.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	replaced := op.Responses["200"]
	op.Responses["201"] = &huma.Response{Description: http.StatusText(http.StatusCreated), Content: replaced.Content}
	replaced.Description = "The captions were replaced."
}

// captionsView is the captions of a video in one language.
type captionsView struct {
	Language string           `json:"language" doc:"BCP 47." example:"en"`
	Label    string           `json:"label" doc:"For people." example:"English"`
	Kind     video.FileKind   `json:"kind" enum:"subtitles,captions" doc:"What is spoken, or also what is heard."`
	Source   video.FileSource `json:"source" enum:"uploaded,embedded,speech,translated" doc:"Uploaded by a client, a track of the file, or made by a program: of what is said, or of other captions."`
	URL      string           `json:"url,omitempty" format:"uri" doc:"WebVTT. It changes when the captions are replaced."`
}

func viewCaptions(f video.File, url string) captionsView {
	return captionsView{Language: f.Language, Label: f.Label, Kind: f.Kind, Source: f.Source, URL: url}
}

// VideoCaptions is the part of a read that lists captions.
type VideoCaptions struct {
	Captions []captionsView `json:"captions" nullable:"false" doc:"The captions of the video, one for each language."`
}

func viewVideoCaptions(files []playback.FileURL) VideoCaptions {
	out := []captionsView{} // never null
	for _, f := range files {
		if f.IsCaptions() {
			out = append(out, viewCaptions(f.File, f.URL))
		}
	}
	return VideoCaptions{out}
}

func (r captionRoutes) put(ctx context.Context, c *call) (*captionsView, error) {
	if !isCaptionsType(c.request.Header.Get("Content-Type")) {
		return nil, &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type",
			Msg: "Captions must be sent with Content-Type: text/vtt, application/x-subrip or text/plain."}
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	text, err := c.readUpTo(captions.MaxSize)
	if err != nil {
		return nil, err
	}
	query := c.request.URL.Query()
	v, f, created, err := r.captions.Put(ctx, c.actor, c.id, captions.Upload{
		Language: c.request.PathValue("language"), Label: query.Get("label"), Kind: video.FileKind(query.Get("kind")), Text: text,
	})
	if err != nil {
		return nil, err
	}
	if created {
		c.status = http.StatusCreated
	}
	var url string
	if c.actor.Require(auth.Read) == nil { // others may write, but not see what they wrote
		for _, file := range r.catalog.FileURLs(v, base) {
			if file.Name == f.Name {
				url = file.URL
			}
		}
	}
	return new(viewCaptions(f, url)), nil
}

// isCaptionsType reports whether a Content-Type is one of captionsTypes, or absent.
func isCaptionsType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && slices.Contains(captionsTypes, t)
}

func (r captionRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.captions.Delete(ctx, c.actor, c.id, c.request.PathValue("language"))
}
