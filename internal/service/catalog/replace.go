package catalog

import (
	"cmp"
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// Replacement is a file on its way to a video, whose file it will replace.
type Replacement struct {
	Status   video.Status
	Progress float64
	Failure  *video.Failure
}

// IsOpen reports whether the file may still replace the other.
func (r *Replacement) IsOpen() bool { return r != nil && r.Status != video.Fail }

// Replace makes a hidden video that waits for its upload, as Create does. When it is ready, the video with the ID takes
// its file (package replace). What a client does not say of the new file is as it was. One that failed is given up.
func (c *Catalog) Replace(ctx context.Context, by auth.Actor, id video.ID, d video.Draft, base string) (Upload, error) {
	v, err := auth.VisibleVideo(ctx, c.store, by, auth.Write, id)
	if err != nil {
		return Upload{}, err
	}
	d.Replaces = id
	return c.create(ctx, by, d, asBefore(d, v), &v, base)
}

// asBefore returns the draft of a new file with what it does not say, which is as for the file that a video has.
func asBefore(d video.Draft, v video.Video) video.Draft {
	d.IsPublic = v.IsPublic
	if d.MaxSeconds == nil && v.MaxDuration > 0 {
		d.MaxSeconds = new(v.MaxDuration.Seconds())
	}
	if d.Resolutions == nil {
		for _, r := range v.Resolutions {
			d.Resolutions = append(d.Resolutions, r.Name)
		}
	}
	if d.Thumbnails == nil {
		d.Thumbnails = v.Thumbnails
	}
	if d.Upscale == nil {
		d.Upscale = &v.Upscale
	}
	if d.AcceptAudio == nil {
		d.AcceptAudio = &v.AcceptAudio
	}
	if d.Codecs == nil {
		d.Codecs = append([]video.Codec{video.H264}, v.Codecs...)
	}
	if d.Loudness == "" {
		d.Loudness = cmp.Or(v.Loudness, video.KeepLoudness)
	}
	if d.HDR == "" && len(video.WithoutH264(d.Codecs)) > 0 {
		d.HDR = v.HDR
	}
	if d.CopySource == "" {
		d.CopySource = v.CopySource
	}
	return d
}

// beginReplace returns why a hidden video cannot replace the file of another one. It locks that one, and gives up an
// earlier try that has failed; the sweep removes what that has stored.
func (c *Catalog) beginReplace(ctx context.Context, tx *store.Tx, hidden video.Video) error {
	if err := tx.Lock(ctx, hidden.Replaces); err != nil {
		return err
	}
	v, err := tx.Video(ctx, hidden.Replaces)
	if err != nil {
		return err
	}
	if v.Status != video.Ready {
		return &video.Error{Kind: video.Conflict, Code: "video_not_ready", Msg: "Only the file of a video that is ready can be replaced."}
	}
	if v.Moving != "" || v.IsPublic != hidden.IsPublic {
		return &video.Error{Kind: video.Conflict, Code: "visibility_changing", RetryAfter: 5 * time.Second,
			Msg: "The files of this video are moving, because isPublic was changed. Try again in a moment."}
	}
	failed, found, err := tx.ReplacementOf(ctx, v.ID)
	if err != nil || !found {
		return err
	}
	if failed.Status != video.Fail {
		return video.ReplaceOpen()
	}
	if err := c.passes.Cancel(ctx, tx, failed.ID, pipeline.AfterDeletion); err != nil {
		return err
	}
	return tx.RemoveVideo(ctx, failed.ID)
}

// ReplacementOf returns the file on its way to a video, or nil.
func ReplacementOf(ctx context.Context, q store.Queries, id video.ID) (*Replacement, error) {
	all, err := replacementsOf(ctx, q, []video.ID{id})
	return all[id], err
}

// replacementsOf returns the files on their way to some videos.
func replacementsOf(ctx context.Context, q store.Queries, ids []video.ID) (map[video.ID]*Replacement, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, arg := store.IDList(1, ids)
	hidden, err := q.SelectVideos(ctx, `WHERE replaces IN `+in+` AND deleted_at IS NULL`, arg)
	if err != nil || len(hidden) == 0 {
		return nil, err
	}
	steps, err := q.StepTotals(ctx, beingProcessed(hidden), pipeline.PerRendition())
	if err != nil {
		return nil, err
	}
	all := make(map[video.ID]*Replacement, len(hidden))
	for _, v := range hidden {
		r := &Replacement{v.Status, progress(v.Status, steps[v.ID], func(store.Step) bool { return true }), v.Failure}
		if r.Status == video.Ready { // the video takes it in a moment, and has the file before until then
			r.Status = video.Processing
		}
		all[v.Replaces] = r
	}
	return all, nil
}

// addReplacements adds to videos the files on their way to them.
func (c *Catalog) addReplacements(ctx context.Context, states []State) error {
	ids := make([]video.ID, len(states))
	for i, s := range states {
		ids[i] = s.Video.ID
	}
	all, err := replacementsOf(ctx, c.store.Queries, ids)
	for i := range states {
		states[i].Replacement = all[states[i].Video.ID]
		states[i].Settled = states[i].Settled && !states[i].Replacement.IsOpen()
	}
	return err
}
