package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// restrict stores on which sites a video may be played. before is the video as it was. A CDN forgets a video that was
// open to all sites.
func (c *Catalog) restrict(ctx context.Context, tx *store.Tx, before, v video.Video) error {
	var origins any
	if v.AllowedOrigins != nil {
		text, err := json.Marshal(v.AllowedOrigins)
		if err != nil {
			return err
		}
		origins = string(text)
	}
	if _, err := tx.Exec(ctx, "restrict video", `UPDATE video SET allowed_origins = $2, allow_no_origin = $3 WHERE id = $1`,
		v.ID, origins, v.AllowNoOrigin); err != nil {
		return err
	}
	tx.OnCommit(func() { c.changed(v.ID) })
	if !v.Restricted() || before.Restricted() {
		return nil
	}
	return c.purges.Video(ctx, tx, cdn.VideoRestricted, v.ID)
}

const (
	// pageLife is how long the addresses of a page live at most.
	pageLife = time.Hour
	// pageStep is how long the addresses of a page stay the same. A page that asks again does not load them again.
	pageStep = 10 * time.Minute
)

// PageExpiry returns when the addresses expire that a page of this server gets now. A page that stays open renews them.
func (c *Catalog) PageExpiry() time.Time {
	expires := c.now().Truncate(pageStep).Add(pageLife)
	if latest := c.keys.Expiry(pageLife); latest.Before(expires) { // the operator set a shorter life
		return latest
	}
	return expires
}

// pageURLs returns the addresses that a page of this server plays a video at. A restricted video gets its own ones, which
// expire and are not asked for an origin. others are the addresses that the video has elsewhere.
func (c *Catalog) pageURLs(v video.Video, others playback.URLs, server string, expires time.Time) playback.URLs {
	if !v.Restricted() {
		return others
	}
	u := playback.PageURLs(v, playback.NewBase(server, ""), c.keys, expires)
	u.Embed, u.Watch = others.Embed, others.Watch
	for i, f := range u.Files {
		if f.Name == video.PosterFile { // it is shown where links are shared, longer than this page lives
			u.Files[i].URL = others.Files[i].URL
		}
	}
	return u
}
