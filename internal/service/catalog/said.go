package catalog

import (
	"context"
	"slices"
	"strconv"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

const (
	// saidBatch is how many videos a search in what is said asks the index for at a time.
	saidBatch = 50
	// maxSaid is how many videos a page of such a search examines.
	maxSaid = 500
)

// listSaid returns a page of the videos in which the words of a filter are said. A page that has examined maxSaid videos ends
// with what it has found.
func (c *Catalog) listSaid(ctx context.Context, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) (Page, error) {
	query, ok := words.Parse(f.Said)
	if !ok {
		return Page{}, nil
	}
	p := saidPage{filter: f, limit: limit}
	err := c.store.Read(ctx, func(q store.Queries) error {
		p.search, p.queries = words.NewSearch(q, !c.store.SingleWriter(), tenant, query), q
		return p.read(ctx, tenant, after)
	})
	if err != nil {
		return Page{}, err
	}
	states, err := c.statesOf(ctx, p.videos)
	for i := range states {
		states[i].Matches = p.matches[i]
	}
	return Page{Videos: states, Next: p.next}, err
}

// saidPage is a page of a search in what is said.
type saidPage struct {
	search  words.Search
	queries store.Queries
	filter  video.Filter
	limit   int

	videos  []video.Video
	matches [][]words.Match // of each video
	next    video.Cursor
}

// read fills the page with the videos after a cursor.
func (p *saidPage) read(ctx context.Context, tenant video.Tenant, after video.Cursor) error {
	var last *int64
	if after != (video.Cursor{}) {
		n, _ := strconv.ParseInt(after.Key, 10, 64) // ParseCursor has checked it
		last = &n
	}
	for range maxSaid / saidBatch {
		places, err := p.search.Next(ctx, last, p.filter.Order.Ascending, saidBatch)
		if err != nil {
			return err
		}
		selected, err := p.selected(ctx, tenant, places)
		if err != nil {
			return err
		}
		for _, at := range places {
			if len(p.videos) == p.limit { // there may be another one
				p.next = p.cursor(*last, p.videos[p.limit-1].ID)
				return nil
			}
			last = &at.Number
			if err := p.examine(ctx, at, selected); err != nil {
				return err
			}
		}
		if len(places) < saidBatch {
			p.next = video.Cursor{}
			return nil
		}
		p.next = p.cursor(*last, places[len(places)-1].Video)
	}
	return nil
}

// cursor is the position after a video.
func (p *saidPage) cursor(number int64, id video.ID) video.Cursor {
	return video.Cursor{Order: p.filter.Order, Key: strconv.FormatInt(number, 10), ID: id}
}

// examine adds a video to the page if it is selected and the words are said in neighbouring cues.
func (p *saidPage) examine(ctx context.Context, at words.Place, selected map[video.ID]video.Video) error {
	v, is := selected[at.Video]
	if !is {
		return nil
	}
	found, err := p.search.Matches(ctx, at.Number)
	if err != nil || len(found) == 0 {
		return err
	}
	p.videos, p.matches = append(p.videos, v), append(p.matches, found)
	return nil
}

// selected reads the videos of some places that the rest of the filter selects.
func (p *saidPage) selected(ctx context.Context, tenant video.Tenant, places []words.Place) (map[video.ID]video.Video, error) {
	if len(places) == 0 {
		return nil, nil
	}
	ids := make([]video.ID, len(places))
	for i, at := range places {
		ids[i] = at.Video
	}
	in, arg := store.IDList(2, ids)
	all, err := p.queries.SelectVideos(ctx, `WHERE tenant = $1 AND deleted_at IS NULL AND replaces IS NULL AND id IN `+in, tenant, arg)
	all = slices.DeleteFunc(all, func(v video.Video) bool {
		return !p.filter.Fits(v.Metadata) || !p.filter.Tagged(v) || !p.filter.Selects(v)
	})
	byID := make(map[video.ID]video.Video, len(all))
	for _, v := range all {
		byID[v.ID] = v
	}
	return byID, err
}
