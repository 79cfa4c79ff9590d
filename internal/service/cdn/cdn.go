// Package cdn tells a CDN what it must forget. What is deleted is recorded in the transaction of the
// deletion, so that a crash loses nothing, and told to the CDN afterwards: a CDN that does not answer
// never delays a deletion.
package cdn

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Reason is why a CDN must forget something.
type Reason string

const (
	VideoDeleted      Reason = "video_deleted"
	ResolutionDeleted Reason = "resolution_deleted"
	CaptionsRemoved   Reason = "captions_removed" // deleted, or replaced: then the new ones have another name
)

// Recorder records purges. A nil *Recorder records nothing: there is no CDN, or none that can be told.
type Recorder struct {
	now  func() time.Time
	wake chan struct{}
}

// NewRecorder returns a Recorder.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, wake: make(chan struct{}, 1)}
}

// Video records that a video is deleted. Call it before its row changes.
func (r *Recorder) Video(ctx context.Context, tx *store.Tx, id video.ID) error {
	if r == nil {
		return nil
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	files := []string{stream.MasterFile, stream.ManifestFile}
	for _, res := range v.Resolutions {
		files = append(files, resolutionFiles(v, res.Name)...)
	}
	for _, f := range v.Files {
		files = append(files, f.Name)
	}
	return r.record(ctx, tx, v, VideoDeleted, files)
}

// Resolution records that a resolution of a video is deleted. Call it before its row is removed.
func (r *Recorder) Resolution(ctx context.Context, tx *store.Tx, of video.ID, id video.ResolutionID) error {
	if r == nil {
		return nil
	}
	v, err := tx.Video(ctx, of)
	if err != nil {
		return err
	}
	for _, res := range v.Resolutions {
		if res.ID == id {
			return r.record(ctx, tx, v, ResolutionDeleted, append(resolutionFiles(v, res.Name), stream.MasterFile, stream.ManifestFile))
		}
	}
	return nil
}

// Captions records that a text was removed.
func (r *Recorder) Captions(ctx context.Context, tx *store.Tx, v video.Video, file string) error {
	return r.record(ctx, tx, v, CaptionsRemoved, []string{file, stream.MasterFile, stream.ManifestFile})
}

// resolutionFiles are the files of a resolution, as far as their names are known: those of its
// segments follow from its film.
func resolutionFiles(v video.Video, n video.Name) []string {
	files := []string{objects.RenditionFile(n)}
	for i := range v.Thumbnails {
		files = append(files, objects.ThumbnailFile(n, i))
	}
	return append(files, stream.TrackFiles(string(n))...)
}

// record records a purge. No CDN keeps files of a private video.
func (r *Recorder) record(ctx context.Context, tx *store.Tx, v video.Video, why Reason, files []string) error {
	if r == nil || !v.IsPublic {
		return nil
	}
	tx.OnCommit(r.Wake)
	return store.InsertPurge(ctx, tx, store.Purge{ID: uuid.Must(uuid.NewV7()).String(), Video: v.ID, Reason: string(why), Files: files, CreatedAt: r.now()})
}

// Wake has the sender look for something to send now.
func (r *Recorder) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
