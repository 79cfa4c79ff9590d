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

// pageURLs returns the addresses that a page of this server plays a video at: those of a restricted video work in the
// page for a while, whoever asks. shared are those that the page would have otherwise, at the latest until latest.
func (c *Catalog) pageURLs(v video.Video, shared playback.URLs, server string, latest time.Time) playback.URLs {
	if !v.Restricted() {
		return shared
	}
	expires := c.keys.Expiry(time.Hour + 2*v.Duration)
	if !latest.IsZero() && latest.Before(expires) {
		expires = latest
	}
	u := playback.PageURLs(v, playback.NewBase(server, ""), c.keys, expires)
	u.Embed, u.Watch = shared.Embed, shared.Watch
	for i, f := range u.Files {
		if f.Name == video.PosterFile { // it is shown where links are shared, longer than this page lives
			u.Files[i].URL = shared.Files[i].URL
		}
	}
	return u
}
