package api

import (
	"context"
	"mime"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/video"
)

// chapterRoutes are the operations on the chapters of a video.
type chapterRoutes struct{ chapters *chapters.Service }

func (r chapterRoutes) register(t *table) {
	write := []auth.Scope{auth.Write}
	add(t, operation{
		id: "putChapters", route: "PUT /api/video/{id}/chapters", summary: "Set the chapters of a video", tag: "video",
		notes:  "All chapters are replaced. An empty list says that the video has none, so that the chapters of its file are not taken.",
		scopes: write, status: 200, errors: []int{404, 413, 415, 507}, parameters: []*huma.Param{videoID()}, describe: describeChapters,
	}, r.put)
	add(t, operation{
		id: "deleteChapters", route: "DELETE /api/video/{id}/chapters", summary: "Delete the chapters of a video", tag: "video",
		scopes: write, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, r.delete)
}

// describeChapters describes the three kinds of body.
func describeChapters(op *huma.Operation, r huma.Registry) {
	content := jsonContent(r, reflect.TypeFor[newChapters]())
	for _, t := range []string{"text/vtt", "text/plain"} {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	op.RequestBody = &huma.RequestBody{Required: true, Content: content,
		Description: "A list, WebVTT whose texts are the titles, or lines such as \"00:42 The second act\"; UTF-8, at most 1 MiB."}
}

// newChapters is a list of chapters that a client sends.
type newChapters struct {
	Chapters []newChapter `json:"chapters" maxItems:"200" nullable:"false" doc:"In the order of their times."`
}

type newChapter struct {
	StartSeconds float64 `json:"startSeconds" minimum:"0" doc:"From the beginning of the video. Later than the chapter before."`
	Title        string  `json:"title" minLength:"1" maxLength:"200" doc:"One line."`
}

func (n *newChapters) list() chapters.List {
	var l chapters.List
	for _, c := range n.Chapters {
		// What is far out of range is refused, but must not overflow before.
		seconds := min(max(c.StartSeconds, -1), 1e9)
		l.Chapters = append(l.Chapters, video.Chapter{Start: time.Duration(seconds * float64(time.Second)), Title: c.Title})
	}
	return l
}

func (n *newChapters) check() []video.Fault { return n.list().Faults() }

// chapterView is a chapter of a video.
type chapterView struct {
	StartSeconds float64 `json:"startSeconds"`
	EndSeconds   float64 `json:"endSeconds,omitempty" doc:"Where the next one begins, or the video ends. Absent from the last one while the length of the video is not known."`
	Title        string  `json:"title" maxLength:"200"`
}

// VideoChapters is the part of a read that lists chapters.
type VideoChapters struct {
	Chapters    []chapterView `json:"chapters,omitzero" nullable:"false" doc:"The chapters of the video. Absent where the video is shown without URLs."`
	ChaptersURL string        `json:"chaptersUrl,omitempty" format:"uri" doc:"The chapters as WebVTT. Absent if there are none."`
}

func viewChapters(all []video.ChapterSpan, url string) VideoChapters {
	out := VideoChapters{Chapters: []chapterView{}} // never null
	for _, c := range all {
		out.Chapters = append(out.Chapters, chapterView{c.Start.Seconds(), c.End.Seconds(), c.Title})
	}
	if len(all) > 0 {
		out.ChaptersURL = url
	}
	return out
}

func (r chapterRoutes) put(ctx context.Context, c *call) (*chaptersView, error) {
	list, err := c.readChapters()
	if err != nil {
		return nil, err
	}
	all, err := r.chapters.Set(ctx, c.actor, c.id, list)
	if err != nil {
		return nil, err
	}
	return &chaptersView{viewChapters(all, "").Chapters}, nil
}

// chaptersView is the answer to new chapters.
type chaptersView struct {
	Chapters []chapterView `json:"chapters" nullable:"false" doc:"As reads show them."`
}

// readChapters reads the body of a request, whose Content-Type says what it is.
func (c *call) readChapters() (chapters.List, error) {
	contentType := c.request.Header.Get("Content-Type")
	read := map[string]func([]byte) (chapters.List, error){"text/vtt": chapters.ReadVTT, "text/plain": chapters.ReadText}
	if t, _, err := mime.ParseMediaType(contentType); err == nil && read[t] != nil {
		text, err := c.readUpTo(chapters.MaxSize)
		if err != nil {
			return chapters.List{}, err
		}
		return read[t](text)
	}
	if !isJSONType(contentType) {
		return chapters.List{}, &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type",
			Msg: "Chapters must be sent with Content-Type: application/json, text/vtt or text/plain."}
	}
	body, err := c.readBody(true)
	if err != nil {
		return chapters.List{}, err
	}
	in := new(newChapters)
	faults, err := decodeBody(body, in)
	if err == nil {
		err = invalidFields(faults)
	}
	return in.list(), err
}

func (r chapterRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.chapters.Delete(ctx, c.actor, c.id)
}
