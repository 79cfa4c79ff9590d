package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// ManyChanges are what [Client.UpdateMany] changes of each video.
type ManyChanges struct {
	AddTags    []string   // come after the tags that a video has
	RemoveTags []string   // a video need not have them
	ExpiresAt  *time.Time // when the videos are deleted; the zero time: never; nil: as before
}

// UpdateMany changes up to 100 videos, all of them or none, and returns them.
func (c *Client) UpdateMany(ctx context.Context, ids []string, changes ManyChanges) ([]Video, error) {
	type tags struct {
		Add    []string `json:"add,omitempty"`
		Remove []string `json:"remove,omitempty"`
	}
	in := struct {
		IDs       []string `json:"ids"`
		Tags      tags     `json:"tags,omitzero"`
		ExpiresAt any      `json:"expiresAt,omitempty"`
	}{ids, tags{changes.AddTags, changes.RemoveTags}, timeOrNull(changes.ExpiresAt)}
	out, err := send[struct{ Videos []Video }](ctx, c, call{method: http.MethodPatch, path: path("video")}, in)
	return out.Videos, err
}

// timeOrNull returns what is written for a time: nothing for nil, and null for the zero time.
func timeOrNull(at *time.Time) any {
	switch {
	case at == nil:
		return nil
	case at.IsZero():
		return json.RawMessage("null")
	}
	return at
}
