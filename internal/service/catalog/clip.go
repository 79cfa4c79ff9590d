package catalog

import (
	"context"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// clipSlack is how many seconds behind the end of a video a clip may end: players round.
const clipSlack = 0.1

// createClip makes a video of a part of another one. The clip gets a copy of the whole file, as an accepted upload does, so
// that deleting the original never touches it: on disk a link, in a bucket a copy that the storage makes.
func (c *Catalog) createClip(ctx context.Context, by auth.Actor, d video.Draft, profile *video.Profile) (Upload, error) {
	if err := by.Require(auth.Read); err != nil {
		return Upload{}, err
	}
	if earlier, found, err := c.recorded(ctx, by.Tenant, d); err != nil || found {
		return Upload{Video: earlier, Repeated: found}, err // also when the original is gone by now
	}
	if _, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, d.Clip.Video); err != nil {
		return Upload{}, err
	}
	from, err := c.store.VideoWithPlan(ctx, d.Clip.Video)
	if err != nil {
		return Upload{}, err
	}
	original, err := c.uploads.OriginalOf(ctx, from)
	if err != nil {
		return Upload{}, err
	}
	if end := from.Duration.Seconds(); d.Clip.End > end+clipSlack {
		return Upload{}, video.InvalidFields(video.Fault{Field: "clip.endSeconds", Code: "out_of_range", Message: "must not be behind the end of the video, which is at " + video.Lasting(end)})
	}
	if err := c.uploads.CheckCopy(ctx, by.Tenant, original.Info.Size); err != nil {
		return Upload{}, err // before there is a video that the client knows nothing of
	}
	v, err := c.newVideo(by, clipDraft(d, from), profile, 0)
	if err != nil {
		return Upload{}, err
	}
	v.UploadExpiresAt = v.CreatedAt.Add(uploads.CompletionLimit)
	v.AcceptAudio = v.AcceptAudio || from.AcceptAudio
	v.Trim = &video.Trim{Start: original.Offset + d.Clip.Start, End: original.Offset + d.Clip.End}
	if v.Watermark, err = c.clipMark(ctx, d, from, original); err != nil {
		return Upload{}, err
	}
	stored, err := c.insert(ctx, v, d)
	if err != nil {
		return Upload{}, err
	}
	repeated := stored.ID != v.ID
	if stored.CompletedAt.IsZero() {
		stored, err = c.uploads.AcceptClip(ctx, stored, original)
	}
	return Upload{Video: stored, Repeated: repeated}, err
}

// clipMark returns the watermark of a clip. One that chooses none has the watermark of its original, which is in the picture
// of a rendition already.
func (c *Catalog) clipMark(ctx context.Context, d video.Draft, from video.Video, original uploads.Original) (*video.Watermark, error) {
	switch {
	case d.Watermark != nil || from.Watermark == nil:
		return c.watermarks.For(ctx, from.Tenant, d.Watermark)
	case original.Rendition:
		return nil, nil
	}
	return from.Watermark, nil
}

// clipDraft returns the draft of a clip with the names of its original where it has none.
func clipDraft(d video.Draft, from video.Video) video.Draft {
	if d.Filename == "" {
		d.Filename = from.Filename
		if d.Title == "" {
			d.Title = from.Title
		}
	}
	return d
}
