package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// tagRoutes are the tags of a tenant.
type tagRoutes struct{ catalog *catalog.Catalog }

func (r tagRoutes) register(t *table) {
	add(t, operation{
		id: "listTags", route: "GET /api/tag", summary: "List the tags of your videos", tag: "video",
		scopes: []auth.Scope{auth.Read}, status: 200, parameters: described(new(tagPage).parameters()),
	}, r.list)
}

// tagView is a tag and how many videos have it.
type tagView struct {
	Tag    string `json:"tag"`
	Videos int64  `json:"videos" doc:"How many videos have it, whatever their status."`
}

type tagList struct {
	Tags       []tagView `json:"tags" nullable:"false" doc:"By name; case and accents do not matter for the order."`
	NextCursor string    `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

// tagPage is a page of the list of tags.
type tagPage struct {
	limit int
	after string
}

func (p *tagPage) parameters() []parameter {
	return []parameter{
		limitParameter(&p.limit, "tags"),
		cursorParameter("from the first tag on", func(s string) (faults []video.Fault) {
			p.after, faults = parseNameCursor(s, 4*video.MaxTag)
			return faults
		}),
	}
}

func (r tagRoutes) list(ctx context.Context, c *call) (*tagList, error) {
	p := tagPage{limit: video.DefaultPage}
	if err := c.query(p.parameters()); err != nil {
		return nil, err
	}
	found, err := r.catalog.Tags(ctx, c.actor, p.after, p.limit)
	if err != nil {
		return nil, err
	}
	out := &tagList{Tags: make([]tagView, len(found.Tags)), NextCursor: base64.RawURLEncoding.EncodeToString([]byte(found.Next))}
	for i, t := range found.Tags {
		out.Tags[i] = tagView{t.Name, t.Videos}
	}
	return out, nil
}

// tagParameter is the filter of a list by tags. It may be given several times.
const tagParameter = "tag"

func describedTags() *huma.Param {
	return &huma.Param{Name: tagParameter, In: "query", Style: "form", Explode: new(true),
		Description: "Only videos with this tag; if it is given several times, only videos with all of them.",
		Schema:      &huma.Schema{Type: huma.TypeArray, MaxItems: new(video.MaxLabels), Items: &huma.Schema{Type: huma.TypeString}}}
}

func (q *listQuery) decodeTags(values url.Values) []video.Fault {
	for _, tag := range values[tagParameter] {
		q.filter.Tags = append(q.filter.Tags, strings.TrimSpace(tag))
	}
	if n := len(q.filter.Tags); n > video.MaxLabels {
		return []video.Fault{{Field: tagParameter, Code: "out_of_range", Message: fmt.Sprintf("must be given at most %d times, is given %d times", video.MaxLabels, n)}}
	}
	return nil
}
