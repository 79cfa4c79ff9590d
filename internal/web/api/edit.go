package api

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// videoEdit describes the body of a request that changes a video.
type videoEdit struct {
	Title          *string  `json:"title,omitempty" maxLength:"200" nullable:"true" doc:"The new title. null or empty: the filename without its extension."`
	CustomMetadata metadata `json:"customMetadata,omitempty" doc:"Replaces all metadata. null removes it."`
}

func (a *API) editVideo(ctx context.Context, c *call, in *videoPath) (*answer[videoStateView], error) {
	id, badID := video.ParseID("id", in.ID)
	edit, err := decodeBody(a, c, true, func(body []byte) (video.Edit, error) {
		edit, faults, err := decodeEdit(body)
		if faults = slices.Concat(faultsIn(badID), faults); err == nil && len(faults) > 0 {
			err = video.InvalidFields(faults...)
		}
		return edit, err
	})
	if err != nil {
		return nil, err
	}
	s, err := a.services.Catalog.Edit(ctx, c.actor, id, edit)
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

// decodeEdit decodes the body of a change. In it, null is a value: it takes back what was given.
func decodeEdit(body []byte) (video.Edit, []video.Fault, error) {
	f, err := parseFields(body, "title", "customMetadata")
	if err != nil {
		return video.Edit{}, nil, err
	}
	var title string
	var object json.RawMessage
	faults := slices.Concat(decodeTitle(f, &title), decodeMetadata(f, &object))
	var e video.Edit
	if _, given := f["title"]; given {
		e.Title = &title
	}
	if _, given := f["customMetadata"]; given {
		e.Metadata = &object
	}
	if len(faults) == 0 {
		faults = e.Check()
	}
	return e, faults, nil
}
