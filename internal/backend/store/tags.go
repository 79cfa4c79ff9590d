package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// moveTags counts that a video has other tags than before.
func (t *Tx) moveTags(ctx context.Context, tenant video.Tenant, before, after []string) error {
	difference := map[string]int64{}
	for _, tag := range before {
		difference[tag]--
	}
	for _, tag := range after {
		difference[tag]++
	}
	return t.addTags(ctx, tenant, difference)
}

// addTags adds to how many videos of a tenant have each tag. It goes through them in one order, so that transactions
// do not wait for each other in a circle.
func (t *Tx) addTags(ctx context.Context, tenant video.Tenant, difference map[string]int64) error {
	var fewer []string
	for _, tag := range slices.Sorted(maps.Keys(difference)) {
		n := difference[tag]
		if n == 0 {
			continue
		}
		if _, err := t.Exec(ctx, "count tag", `
			INSERT INTO tag (tenant, name, sort_key, videos) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant, name) DO UPDATE SET videos = tag.videos + excluded.videos`, tenant, tag, TitleKey(tag), n); err != nil {
			return err
		}
		if n < 0 {
			fewer = append(fewer, tag)
		}
	}
	if len(fewer) == 0 {
		return nil
	}
	in, arg := IDList(2, fewer)
	_, err := t.Exec(ctx, "forget tags", `DELETE FROM tag WHERE tenant = $1 AND videos <= 0 AND name IN `+in, tenant, arg)
	return err
}

// recountTags counts the tags of all videos again.
func (t *Tx) recountTags(ctx context.Context) error {
	if _, err := t.Exec(ctx, "recount tags", `DELETE FROM tag`); err != nil {
		return err
	}
	counts := map[video.Tenant]map[string]int64{}
	err := Each(ctx, t.Queries, "recount tags", func(row *sql.Rows) (bool, error) {
		var tenant video.Tenant
		var tags []string
		err := row.Scan(&tenant, optionalJSON{&tags})
		if counts[tenant] == nil {
			counts[tenant] = map[string]int64{}
		}
		for _, tag := range tags {
			counts[tenant][tag]++
		}
		return true, err
	}, `SELECT tenant, tags FROM video WHERE tags IS NOT NULL AND deleted_at IS NULL`)
	if err != nil {
		return err
	}
	for tenant, tags := range counts {
		if err := t.addTags(ctx, tenant, tags); err != nil {
			return err
		}
	}
	return nil
}
