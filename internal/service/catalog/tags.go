package catalog

import (
	"context"
	"database/sql"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Tag is a tag, and how many videos of its tenant have it.
type Tag struct {
	Name   string
	Videos int64
}

// TagPage is a part of the list of tags.
type TagPage struct {
	Tags []Tag
	Next string // the tag after which the next page begins; "": this is the last
}

// Tags returns at most limit tags of the actor's videos, by name, from the one after a tag on.
func (c *Catalog) Tags(ctx context.Context, by auth.Actor, after string, limit int) (TagPage, error) {
	if err := by.Require(auth.Read); err != nil {
		return TagPage{}, err
	}
	tags, err := pageOfTags(ctx, c.store.Queries, by.Tenant, after, limit+1)
	if err != nil || len(tags) <= limit {
		return TagPage{Tags: tags}, err
	}
	return TagPage{Tags: tags[:limit], Next: tags[limit-1].Name}, nil
}

func pageOfTags(ctx context.Context, q store.Queries, tenant video.Tenant, after string, limit int) ([]Tag, error) {
	return store.Collect(ctx, q, "list tags", func(row *sql.Rows) (t Tag, err error) {
		err = row.Scan(&t.Name, &t.Videos)
		return t, err
	}, `SELECT name, videos FROM tag WHERE tenant = $1 AND (sort_key, name) > ($2, $3) ORDER BY sort_key, name LIMIT $4`,
		tenant, store.TitleKey(after), after, limit)
}
