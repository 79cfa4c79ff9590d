package api

import (
	"context"
	"mime"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// captionsTypes are the media types that captions are sent with.
var captionsTypes = []string{"text/vtt", "application/x-subrip", "text/plain"}

type (
	captionsPath struct {
		ID       string `path:"id" format:"uuid" doc:"The id of the video."`
		Language string `path:"language" maxLength:"35" doc:"The language (BCP 47), such as en, de-AT or zh-Hant. It is normalised: eng is en." example:"en"`
	}
	putCaptionsAnswer struct {
		Status int
		Body   captionsView
	}
)

// captionsView is the captions of a video in one language.
type captionsView struct {
	Language string           `json:"language" doc:"BCP 47." example:"en"`
	Label    string           `json:"label" doc:"For people." example:"English"`
	Kind     video.FileKind   `json:"kind" enum:"subtitles,captions" doc:"What is spoken, or also what is heard."`
	Source   video.FileSource `json:"source" enum:"uploaded,embedded" doc:"Uploaded by a client, or a track of the file."`
	URL      string           `json:"url,omitempty" format:"uri" doc:"WebVTT. It changes when the captions are replaced."`
}

func viewCaptions(f video.File, url string) captionsView {
	return captionsView{Language: f.Language, Label: f.Label, Kind: f.Kind, Source: f.Source, URL: url}
}

// viewAllCaptions is never nil.
func viewAllCaptions(files []playback.FileURL) []captionsView {
	out := []captionsView{}
	for _, f := range files {
		if f.IsCaptions() {
			out = append(out, viewCaptions(f.File, f.URL))
		}
	}
	return out
}

func putCaptionsOperation(r huma.Registry) huma.Operation {
	body := &huma.RequestBody{Required: true, Description: "WebVTT or SubRip, UTF-8, at most 2 MiB.", Content: map[string]*huma.MediaType{}}
	for _, t := range captionsTypes {
		body.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	op := operation(r, "putCaptions", "PUT /api/video/{id}/captions/{language}", 201, "Add or replace the captions of a language", body, 404, 409, 413, 415, 507)
	op.Responses["200"] = &huma.Response{Description: "The captions were replaced.", Content: map[string]*huma.MediaType{
		"application/json": {Schema: r.Schema(reflect.TypeFor[captionsView](), true, "")},
	}}
	op.Parameters = []*huma.Param{
		{Name: "label", In: "query", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(100)}, Description: "What people see in a menu. Default: the name of the language."},
		{Name: "kind", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"subtitles", "captions"}}, Description: "subtitles (default), or captions for people who do not hear the sound."},
	}
	return op
}

func (a *API) putCaptions(ctx context.Context, c *call, in *captionsPath) (*putCaptionsAnswer, error) {
	id, err := video.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	if !isCaptionsType(c.request.Header.Get("Content-Type")) {
		return nil, &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type",
			Msg: "Captions must be sent with Content-Type: text/vtt, application/x-subrip or text/plain."}
	}
	base, err := a.config.base(c.request)
	if err != nil {
		return nil, err
	}
	text, release, err := a.readUpTo(c, captions.MaxSize)
	if err != nil {
		return nil, err
	}
	defer release()
	query := c.request.URL.Query()
	v, f, created, err := a.services.Captions.Put(ctx, c.actor, id, captions.Upload{
		Language: in.Language, Label: query.Get("label"), Kind: video.FileKind(query.Get("kind")), Text: text,
	})
	if err != nil {
		return nil, err
	}
	out := &putCaptionsAnswer{Status: http.StatusOK, Body: viewCaptions(f, "")}
	if created {
		out.Status = http.StatusCreated
	}
	if c.actor.Require(auth.Read) == nil { // others may write, but not see what they wrote
		for _, file := range a.services.Catalog.FileURLs(v, base) {
			if file.Name == f.Name {
				out.Body.URL = file.URL
			}
		}
	}
	return out, nil
}

// isCaptionsType reports whether a Content-Type is one of captionsTypes, or absent.
func isCaptionsType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && slices.Contains(captionsTypes, t)
}

func (a *API) deleteCaptions(ctx context.Context, c *call, in *captionsPath) (*nothing, error) {
	id, err := video.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.services.Captions.Delete(ctx, c.actor, id, in.Language)
}
