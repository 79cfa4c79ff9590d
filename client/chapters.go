package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Chapter is a part of a video with a title.
type Chapter struct {
	StartSeconds float64 `json:"startSeconds"`
	EndSeconds   float64 `json:"endSeconds,omitempty"` // as the server tells it; 0 while the length of the video is not known
	Title        string  `json:"title"`
}

// maxChapters is the largest text with chapters that the server takes.
const maxChapters = 1 << 20

// chapterList is how chapters are sent and answered.
type chapterList struct {
	Chapters []Chapter `json:"chapters"`
}

// SetChapters replaces the chapters of a video. An empty list says that it has none, whatever its file says.
func (c *Client) SetChapters(ctx context.Context, id string, all []Chapter) ([]Chapter, error) {
	in := chapterList{[]Chapter{}} // never null
	for _, one := range all {
		in.Chapters = append(in.Chapters, Chapter{StartSeconds: one.StartSeconds, Title: one.Title}) // ends follow
	}
	out, err := send[chapterList](ctx, c, call{method: http.MethodPut, path: path("video", id, "chapters")}, in)
	return out.Chapters, err
}

// SetChaptersText is SetChapters with a text: WebVTT, or lines such as "00:42 The second act".
func (c *Client) SetChaptersText(ctx context.Context, id string, text io.Reader) ([]Chapter, error) {
	body, err := io.ReadAll(io.LimitReader(text, maxChapters+1)) // one byte more is refused with the API's own words
	if err != nil {
		return nil, fmt.Errorf("read the chapters: %w", err)
	}
	kind := "text/plain"
	if bytes.HasPrefix(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("WEBVTT")) {
		kind = "text/vtt"
	}
	out, err := send[chapterList](ctx, c, call{
		method: http.MethodPut, path: path("video", id, "chapters"), header: http.Header{"Content-Type": {kind}}, body: body,
	}, nil)
	return out.Chapters, err
}

// DeleteChapters removes the chapters of a video.
func (c *Client) DeleteChapters(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id, "chapters"), gone: true}, nil)
	return err
}
