package catalog

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// PlaybackInfo is a video with the addresses at which it is played.
type PlaybackInfo struct {
	State
	URLs     playback.URLs
	Chapters []video.ChapterSpan
}

// listedLife is how long the addresses of a list are valid at least, where they expire.
const listedLife = time.Hour

func (c *Catalog) base(server string) playback.Base { return playback.NewBase(server, c.config.CDN) }

// FileURLs returns the addresses of the files that belong to no resolution, of a video that List
// returned. The addresses of a private video stay the same for listedLife, so that a page that
// shows a list again and again loads a picture once.
func (c *Catalog) FileURLs(v video.Video, base string) []playback.FileURL {
	expires, latest := c.now().Truncate(listedLife).Add(2*listedLife), c.keys.Expiry(2*listedLife)
	if latest.Before(expires) { // the operator set a shorter life
		expires = latest
	}
	return playback.FileURLs(v, c.base(base), c.keys, expires)
}

// Read returns a video with its addresses. Private ones expire after ttl, or earlier if the operator set a shorter
// life.
func (c *Catalog) Read(ctx context.Context, by auth.Actor, id video.ID, ttl time.Duration, base string) (PlaybackInfo, error) {
	v, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, id)
	if err != nil {
		return PlaybackInfo{}, err
	}
	return c.playbackInfo(ctx, v, ttl, base)
}

// playbackInfo adds to a video its state and its addresses. Public ones never expire.
func (c *Catalog) playbackInfo(ctx context.Context, v video.Video, ttl time.Duration, base string) (PlaybackInfo, error) {
	return c.withURLs(ctx, v, func(v video.Video) playback.URLs {
		if v.IsPublic {
			return playback.PublicURLs(v, c.base(base))
		}
		return playback.SignedURLs(v, c.base(base), c.keys, c.keys.Expiry(ttl))
	})
}

// withURLs adds to a video its state, its chapters, and its addresses. urls gets the video with the files that it awaits.
func (c *Catalog) withURLs(ctx context.Context, v video.Video, urls func(video.Video) playback.URLs) (PlaybackInfo, error) {
	s, err := c.stateOf(ctx, v)
	if err != nil {
		return PlaybackInfo{}, err
	}
	all, err := chapters.Of(ctx, c.store.Queries, v.ID)
	return PlaybackInfo{State: s, URLs: urls(s.Video), Chapters: video.ChapterSpans(all, v.Duration)}, err
}

// Public is Read for clients that expect a public video.
func (c *Catalog) Public(ctx context.Context, by auth.Actor, id video.ID, base string) (PlaybackInfo, error) {
	v, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, id)
	if err != nil {
		return PlaybackInfo{}, err
	}
	if !v.IsPublic {
		return PlaybackInfo{}, &video.Error{Kind: video.Forbidden, Code: "video_is_private",
			Msg: "This video is private. Read it at /api/video/{id}/private/{expirationSeconds}."}
	}
	return c.playbackInfo(ctx, v, 0, base)
}

// Private is Read for clients that expect a private video.
func (c *Catalog) Private(ctx context.Context, by auth.Actor, id video.ID, ttl time.Duration, base string) (PlaybackInfo, error) {
	v, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, id)
	if err != nil {
		return PlaybackInfo{}, err
	}
	if v.IsPublic {
		return PlaybackInfo{}, &video.Error{Kind: video.Forbidden, Code: "video_is_public",
			Msg: "This video is public. Read it at /api/video/{id}/public."}
	}
	return c.playbackInfo(ctx, v, ttl, base)
}

// Preview is Private with addresses of which only the streams play, and only a part of the video.
func (c *Catalog) Preview(ctx context.Context, by auth.Actor, id video.ID, ttl time.Duration, base string, part stream.Part) (PlaybackInfo, error) {
	info, err := c.Private(ctx, by, id, ttl, base)
	if err != nil || part.All() {
		return info, err
	}
	if end := info.Video.Duration; end > 0 && part.From >= end {
		return PlaybackInfo{}, video.InvalidFields(video.Fault{Field: "start", Code: "out_of_range", Message: "must be before the end of the video, which is at " + video.Lasting(end.Seconds())})
	}
	info.URLs = playback.PreviewURLs(info.Video, c.base(base), c.keys, c.keys.Expiry(ttl), part)
	return info, nil
}

// Watch returns a public video with its permanent addresses, for anybody.
func (c *Catalog) Watch(ctx context.Context, id video.ID, base string) (PlaybackInfo, error) {
	v, err := c.findPublic(ctx, id)
	if err != nil {
		return PlaybackInfo{}, err
	}
	return c.withURLs(ctx, v, func(video.Video) playback.URLs {
		return c.pageURLs(v, playback.PublicURLs(v, c.base(base)), base, c.PageExpiry())
	})
}

// Embed returns a private video for the holder of a token of its embed address. The other addresses
// live as long as that one. The error of a bad token is url_expired or url_invalid.
func (c *Catalog) Embed(ctx context.Context, token string, id video.ID, base string) (PlaybackInfo, error) {
	v, err := c.findSigned(ctx, token, id)
	if err != nil {
		return PlaybackInfo{}, err
	}
	return c.withURLs(ctx, v, func(video.Video) playback.URLs {
		until := sign.Expiry(token)
		return c.pageURLs(v, playback.SignedURLs(v, c.base(base), c.keys, until), base, until)
	})
}

// Embedded returns a video for a player on a page of another site: a public one, or, with the token of its embed address,
// a private one. Its addresses are asked for an origin where the video may be played on some sites alone, and so is this.
func (c *Catalog) Embedded(ctx context.Context, token string, id video.ID, base string, from playback.Visit) (PlaybackInfo, error) {
	find := c.findPublic
	if token != "" {
		find = func(ctx context.Context, id video.ID) (video.Video, error) { return c.findSigned(ctx, token, id) }
	}
	v, err := find(ctx, id)
	if err == nil {
		err = from.MayPlay(v)
	}
	if err != nil {
		return PlaybackInfo{}, err
	}
	return c.withURLs(ctx, v, func(v video.Video) playback.URLs {
		if v.IsPublic {
			return playback.PublicURLs(v, c.base(base))
		}
		return playback.SignedURLs(v, c.base(base), c.keys, sign.Expiry(token))
	})
}

// findPublic returns a public video. That a private one exists is secret.
func (c *Catalog) findPublic(ctx context.Context, id video.ID) (video.Video, error) {
	v, err := c.findVisible(ctx, id)
	if err == nil && !v.IsPublic {
		return video.Video{}, video.VideoNotFound()
	}
	return v, err
}

// findSigned returns a private video for the holder of a token of its embed address.
func (c *Catalog) findSigned(ctx context.Context, token string, id video.ID) (video.Video, error) {
	if err := playback.RefusePreview(ctx, c.keys, id, token); err != nil {
		return video.Video{}, err
	}
	if err := c.keys.Verify(ctx, sign.Embed, string(id), token); err != nil {
		return video.Video{}, err
	}
	v, err := c.findVisible(ctx, id)
	if err == nil && v.IsPublic { // it was private when the address was signed
		return video.Video{}, video.VideoNotFound()
	}
	return v, err
}

// Shared returns a video for the visitor of a share. Its addresses end with the share.
func (c *Catalog) Shared(ctx context.Context, id video.ID, share string, expires time.Time, base string) (PlaybackInfo, error) {
	v, err := c.findVisible(ctx, id)
	if err != nil {
		return PlaybackInfo{}, err
	}
	return c.withURLs(ctx, v, func(video.Video) playback.URLs {
		return playback.SharedURLs(v, c.base(base), c.keys, expires, share)
	})
}

// findVisible returns a video of any tenant that is not marked deleted.
func (c *Catalog) findVisible(ctx context.Context, id video.ID) (video.Video, error) {
	v, err := c.store.Video(ctx, id)
	if err == nil && (!v.DeletedAt.IsZero() || v.Replaces != "") {
		return video.Video{}, video.VideoNotFound()
	}
	return v, err
}
