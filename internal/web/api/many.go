package api

import (
	"context"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// manyRoutes change many videos at once.
type manyRoutes struct{ catalog *catalog.Catalog }

func (r manyRoutes) register(t *table) {
	addWithBody(t, operation{
		id: "editVideos", route: "PATCH /api/video", summary: "Change many videos", tag: "video",
		notes:  "All of them are changed, or none: an unknown id is 404 and changes nothing.",
		scopes: []auth.Scope{auth.Write, auth.Read}, status: 200, errors: []int{404, 409, 413, 415, 507}, costly: true,
	}, r.edit)
}

// manyEdit is the body of a request that changes many videos.
type manyEdit struct {
	IDs       []string    `json:"ids" minItems:"1" maxItems:"100" nullable:"false" format:"uuid" doc:"The videos. Repetitions count once."`
	Tags      *tagChanges `json:"tags,omitempty" doc:"Changes the tags of each video."`
	ExpiresAt *moment     `json:"expiresAt,omitempty" nullable:"true" null:"zero" doc:"When the videos are deleted, at the latest a minute later. null: never."`
}

// tagChanges are tags to add and to remove.
type tagChanges struct {
	Add    []string `json:"add,omitempty" maxItems:"100" nullable:"true" doc:"They come after the tags that a video has."`
	Remove []string `json:"remove,omitempty" maxItems:"100" nullable:"true" doc:"A video need not have them."`
}

func (e *manyEdit) edit() video.ManyEdit {
	out := video.ManyEdit{ExpiresAt: (*time.Time)(e.ExpiresAt)}
	if e.Tags != nil {
		out.AddTags, out.RemoveTags = e.Tags.Add, e.Tags.Remove
	}
	return out
}

// videos returns the ids, and what is wrong with them.
func (e *manyEdit) videos() (ids []video.ID, faults []video.Fault) {
	if len(e.IDs) == 0 {
		return nil, []video.Fault{{Field: "ids", Code: "out_of_range", Message: "must name at least one video"}}
	}
	for i, s := range e.IDs {
		id, err := video.ParseID(fmt.Sprintf("ids[%d]", i), s)
		ids, faults = append(ids, id), append(faults, faultsIn(err)...)
	}
	return ids, faults
}

func (e *manyEdit) check() []video.Fault {
	_, faults := e.videos()
	return append(faults, e.edit().Check()...)
}

// changedVideos answers a request that has changed many videos.
type changedVideos struct {
	Videos []videoStateView `json:"videos" nullable:"false" doc:"In the order of ids."`
}

func (r manyRoutes) edit(ctx context.Context, c *call, in *manyEdit) (*changedVideos, error) {
	ids, _ := in.videos()
	states, err := r.catalog.EditMany(ctx, c.actor, ids, in.edit())
	if err != nil {
		return nil, err
	}
	out := &changedVideos{Videos: make([]videoStateView, len(states))}
	for i, s := range states {
		out.Videos[i] = viewState(s)
	}
	return out, nil
}
