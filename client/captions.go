package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Caption is a text track of a video.
type Caption struct {
	Language string `json:"language"`
	Label    string `json:"label"`
	Kind     string `json:"kind"`   // "subtitles" or "captions"
	Source   string `json:"source"` // "uploaded", "embedded", "speech" or "translated"
	URL      string `json:"url,omitempty"`
}

// MadeText is captions that a program of the server makes: of what is said, or of other captions.
type MadeText struct {
	Status   Status   `json:"status"` // Processing, Ready or Failed
	Language string   `json:"language,omitempty"`
	From     string   `json:"from,omitempty"` // of a translation
	Failure  *Failure `json:"failure,omitempty"`
}

// Transcribe has captions made of what is said in a video. The language is a tag of BCP 47; if it is empty, the server's program
// finds it out. [Video.Transcription] tells how it goes.
func (c *Client) Transcribe(ctx context.Context, id, language string) error {
	body, err := json.Marshal(map[string]string{"language": language})
	if err != nil {
		return err
	}
	if language == "" {
		body = []byte("{}")
	}
	_, err = c.do(ctx, call{method: http.MethodPost, path: path("video", id, "transcribe"), header: http.Header{"Content-Type": {"application/json"}}, body: body}, nil)
	return err
}

// Translate has the captions of a language translated into others. [Video.Translations] tells how it goes.
func (c *Client) Translate(ctx context.Context, id, from string, to ...string) error {
	body, err := json.Marshal(map[string][]string{"to": to})
	if err != nil {
		return err
	}
	_, err = c.do(ctx, call{method: http.MethodPost, path: path("video", id, "captions", from, "translate"), header: http.Header{"Content-Type": {"application/json"}}, body: body}, nil)
	return err
}

// Match is a place in a video where words are said, as its captions in a language tell.
type Match struct {
	Language string  `json:"language"`
	Start    float64 `json:"startSeconds"`
	End      float64 `json:"endSeconds"`
	Text     string  `json:"text"`
}

// CaptionOptions describe a text track.
type CaptionOptions struct {
	Label string // as the player's menu shows it
	Kind  string // "subtitles" or "captions", which also tell sounds
}

// maxCaptions is the largest file of captions that the server takes.
const maxCaptions = 2 << 20

// SetCaptions adds a text track in WebVTT or SubRip to a video, or replaces the one in that language, which
// is a tag of BCP 47 such as "en" or "pt-BR".
func (c *Client) SetCaptions(ctx context.Context, id, language string, text io.Reader, o CaptionOptions) error {
	body, err := io.ReadAll(io.LimitReader(text, maxCaptions+1)) // one byte more is refused with the API's own words
	if err != nil {
		return fmt.Errorf("read the captions: %w", err)
	}
	kind := "application/x-subrip"
	if bytes.HasPrefix(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("WEBVTT")) {
		kind = "text/vtt"
	}
	query := url.Values{}
	if o.Label != "" {
		query.Set("label", o.Label)
	}
	if o.Kind != "" {
		query.Set("kind", o.Kind)
	}
	_, err = c.do(ctx, call{
		method: http.MethodPut, path: path("video", id, "captions", language), query: query,
		header: http.Header{"Content-Type": {kind}}, body: body,
	}, nil)
	return err
}

// DeleteCaptions removes the text track in a language.
func (c *Client) DeleteCaptions(ctx context.Context, id, language string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id, "captions", language), gone: true}, nil)
	return err
}
