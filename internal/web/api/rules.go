package api

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/video"
)

// VideoRules is how a video is organised, and what holds for it, in all views of it.
type VideoRules struct {
	Tags      []string   `json:"tags" nullable:"false" doc:"In the order of the client."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the video is deleted. Absent: never."`
}

func viewVideoRules(v video.Video) VideoRules {
	out := VideoRules{Tags: append([]string{}, v.Tags...)} // never null
	if !v.ExpiresAt.IsZero() {
		out.ExpiresAt = new(v.ExpiresAt.UTC())
	}
	return out
}

// moment is a point in time in a body.
type moment time.Time

// decodeField takes a time after 1970, so that none is the zero time.
func (m *moment) decodeField(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, text)
	*m = moment(at)
	return err == nil && at.Unix() > 0
}

func (*moment) must() string {
	return "must be a time as in RFC 3339, such as 2030-05-01T12:00:00Z"
}

// Schema describes a time.
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}
