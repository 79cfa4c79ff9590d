package api

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/video"
)

// speechRoutes are the operations that have captions made by programs.
type speechRoutes struct {
	speech  *speech.Service
	catalog *catalog.Catalog
}

func (r speechRoutes) register(t *table) {
	change := []auth.Scope{auth.Write, auth.Read} // the answer shows the state of the video
	addWithBody(t, operation{
		id: "transcribeVideo", route: "POST /api/video/{id}/transcribe", summary: "Write down what is said in a video", tag: "video", optionalBody: true,
		notes:  "The captions are made in spare time, by the program that the operator has set; transcription in reads tells how it goes.",
		scopes: change, status: 202, errors: []int{404, 409, 413, 415}, parameters: []*huma.Param{videoID()},
	}, r.transcribe)
	addWithBody(t, operation{
		id: "translateCaptions", route: "POST /api/video/{id}/captions/{language}/translate", summary: "Translate captions", tag: "video",
		notes:  "The translations are made in spare time, by the program that the operator has set; translations in reads tells how it goes.",
		scopes: change, status: 202, errors: []int{404, 409, 413, 415},
		parameters: []*huma.Param{videoID(), pathParameter("language", "The language of the captions (BCP 47).", &huma.Schema{Type: huma.TypeString, MaxLength: new(35), Examples: []any{"en"}})},
	}, r.translate)
}

// transcribeBody is the body of a request for a transcription.
type transcribeBody struct {
	Language string `json:"language,omitempty" maxLength:"35" doc:"The language that is spoken (BCP 47). Absent: the program finds it out." example:"en"`
}

func (*transcribeBody) check() []video.Fault { return nil }

// translateBody is the body of a request for translations.
type translateBody struct {
	To []string `json:"to" minItems:"1" maxItems:"20" nullable:"false" doc:"The languages to translate into (BCP 47)." example:"[\"de\",\"fr\"]"`
}

func (*translateBody) check() []video.Fault { return nil }

func (r speechRoutes) transcribe(ctx context.Context, c *call, in *transcribeBody) (*videoStateView, error) {
	if _, err := r.speech.Transcribe(ctx, c.actor, c.id, in.Language); err != nil {
		return nil, err
	}
	return answerState(r.catalog.State(ctx, c.actor, c.id))
}

func (r speechRoutes) translate(ctx context.Context, c *call, in *translateBody) (*videoStateView, error) {
	if _, err := r.speech.Translate(ctx, c.actor, c.id, c.request.PathValue("language"), in.To); err != nil {
		return nil, err
	}
	return answerState(r.catalog.State(ctx, c.actor, c.id))
}

// transcribeChoice is true, false or a language.
type transcribeChoice struct{ video.Transcribe }

// decodeField takes one of them. What is no language is refused later, with other fields.
func (t *transcribeChoice) decodeField(raw json.RawMessage) bool {
	if json.Unmarshal(raw, &t.Wanted) == nil {
		return true
	}
	t.Wanted = true
	return json.Unmarshal(raw, &t.Language) == nil && t.Language != ""
}

func (*transcribeChoice) must() string { return "must be true, false or a language such as en" }

// Schema describes the choice.
func (transcribeChoice) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeBoolean}, {Type: huma.TypeString, MaxLength: new(35)}}}
}

func (t *transcribeChoice) choice() *video.Transcribe {
	if t == nil {
		return nil
	}
	return &t.Transcribe
}

// VideoSpeech is the part of a read about what programs make of what is said.
type VideoSpeech struct {
	Transcription *madeTextView  `json:"transcription,omitempty" doc:"Captions of what is said, which a program makes. Absent if nothing was asked for."`
	Translations  []madeTextView `json:"translations,omitempty" nullable:"false" doc:"Captions that a program translates. Absent if nothing was asked for."`
}

// madeTextView is a text that a program makes.
type madeTextView struct {
	Status   video.Status `json:"status" enum:"pending_upload,processing,ready,fail" doc:"processing until the program has made it: after the video is ready, in spare time."`
	Language string       `json:"language,omitempty" doc:"BCP 47. Absent until the program has found it out."`
	From     string       `json:"from,omitempty" doc:"Of a translation: the language of the captions that are translated. Absent: the language of the transcription."`
	Failure  *failure     `json:"failure,omitempty" doc:"Why status is fail. The video is as it was."`
}

func viewMadeText(m video.MadeText) madeTextView {
	return madeTextView{Status: m.Status, Language: m.Language, From: m.From, Failure: viewFailure(m.Failure)}
}

func viewSpeech(v video.Video) VideoSpeech {
	var out VideoSpeech
	if v.Speech == nil {
		return out
	}
	if t := v.Speech.Transcription; t != nil {
		out.Transcription = new(viewMadeText(*t))
	}
	for _, t := range v.Speech.Translations {
		out.Translations = append(out.Translations, viewMadeText(t))
	}
	return out
}
