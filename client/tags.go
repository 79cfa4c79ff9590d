package client

import (
	"context"
	"iter"
	"net/url"
)

// Tag is a tag, and how many videos have it.
type Tag struct {
	Tag    string `json:"tag"`
	Videos int64  `json:"videos"`
}

// Tags returns the tags of the key's tenant by name. It asks for one page after the other. An error is the last thing
// that it returns.
func (c *Client) Tags(ctx context.Context) iter.Seq2[Tag, error] {
	type page struct {
		Tags       []Tag
		NextCursor string
	}
	return pages(url.Values{"limit": {"100"}}, func(query url.Values) ([]Tag, string, error) {
		p, err := get[page](ctx, c, path("tag"), query)
		return p.Tags, p.NextCursor, err
	})
}
