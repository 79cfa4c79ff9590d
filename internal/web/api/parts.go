package api

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/video"
)

// partParameters are the query parameters of a preview.
func partParameters(start, end *string) []parameter {
	one := func(name, doc string, to *string) parameter {
		return parameter{name: name, doc: doc, schema: &huma.Schema{Type: huma.TypeNumber, Minimum: new(0.0)}, decode: func(s string) []video.Fault {
			*to = s
			if s == "" {
				return []video.Fault{{Field: name, Code: "out_of_range", Message: "must be a number of seconds, zero or more"}}
			}
			return nil
		}}
	}
	return []parameter{
		one("start", "The second at which a preview begins. Absent: the beginning, if there is an end.", start),
		one("end", "The second at which a preview ends. Absent: the end, if there is a start.", end),
	}
}

// trimBody is the part of a file that a video is made of, in a create request.
type trimBody struct {
	StartSeconds *float64 `json:"startSeconds,omitempty" minimum:"0" nullable:"true" doc:"The first frame at or after this second of the file is the first one of the video. Absent: the beginning."`
	EndSeconds   *float64 `json:"endSeconds,omitempty" minimum:"0" nullable:"true" doc:"The last frame before this second is the last one. Absent: the end. Behind the end of the file, the video ends with it and has a warning."`
}

func (t *trimBody) trim() *video.Trim {
	if t == nil {
		return nil
	}
	return video.NewTrim(t.StartSeconds, t.EndSeconds)
}

func (t *trimBody) check() []video.Fault {
	if t == nil {
		return nil
	}
	return video.CheckPart("trim.", t.StartSeconds, t.EndSeconds)
}

// clipBody is the part of another video that a video is made of, in a create request.
type clipBody struct {
	VideoID      string  `json:"videoId" format:"uuid" doc:"The other video."`
	StartSeconds float64 `json:"startSeconds" minimum:"0" doc:"The first frame at or after this second of the other video is the first one."`
	EndSeconds   float64 `json:"endSeconds" minimum:"0" doc:"The last frame before this second is the last one."`
}

func (c *clipBody) clip() *video.Clip {
	if c == nil {
		return nil
	}
	id, _ := video.ParseID("clip.videoId", c.VideoID) // check says what is wrong with it
	return &video.Clip{Video: id, Start: c.StartSeconds, End: c.EndSeconds}
}

func (c *clipBody) check() []video.Fault {
	if c == nil {
		return nil
	}
	_, err := video.ParseID("clip.videoId", c.VideoID)
	return append(faultsIn(err), video.CheckPart("clip.", &c.StartSeconds, &c.EndSeconds)...)
}
