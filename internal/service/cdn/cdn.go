// Package cdn tells a CDN what it must forget. What is deleted is recorded in the transaction of the
// deletion, so that a crash loses nothing, and told to the CDN by a task of the queue's network lane: a
// CDN that does not answer never delays a deletion. It is told when the storage has none of the files any more, or it would
// fetch them again.
package cdn

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Reason is why a CDN must forget something.
type Reason string

const (
	VideoDeleted      Reason = "video_deleted"
	VideoPrivate      Reason = "video_private"    // it was public
	VideoRestricted   Reason = "video_restricted" // to some sites; its files are still there
	FileReplaced      Reason = "file_replaced"    // other files have the same addresses
	ResolutionDeleted Reason = "resolution_deleted"
	CaptionsRemoved   Reason = "captions_removed" // deleted, or replaced: then the new ones have another name
	PosterChanged     Reason = "poster_changed"   // another picture has the same address
	PosterRemoved     Reason = "poster_removed"
	SoundChanged      Reason = "sound_changed" // the MP4 files hold another sound track, or playlists name it otherwise
	SoundRemoved      Reason = "sound_removed"
)

// Recorder records purges. A nil *Recorder records nothing: no purge URL is configured.
type Recorder struct {
	queue queue.Queue
	now   func() time.Time
}

// NewRecorder returns a Recorder, whose purges are tasks of q.
func NewRecorder(q queue.Queue, now func() time.Time) *Recorder { return &Recorder{q, now} }

// Video records that a video is deleted, becomes private, or that its file is replaced. Call it before its row changes.
func (r *Recorder) Video(ctx context.Context, tx *store.Tx, why Reason, id video.ID) error {
	if r == nil {
		return nil
	}
	v, err := tx.Video(ctx, id)
	if err != nil {
		return err
	}
	files := sharedFiles()
	for _, res := range v.Resolutions {
		files = append(files, resolutionFiles(v, res.Name)...)
	}
	for _, f := range v.Files {
		files = append(files, listedFiles(f.Name)...)
	}
	return r.record(ctx, tx, v, why, files)
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
			return r.record(ctx, tx, v, ResolutionDeleted, append(resolutionFiles(v, res.Name), sharedFiles()...))
		}
	}
	return nil
}

// File records that a file which a video listed was removed, with the playlists that name it.
func (r *Recorder) File(ctx context.Context, tx *store.Tx, v video.Video, why Reason, name string) error {
	return r.record(ctx, tx, v, why, append(listedFiles(name), stream.MasterFile, stream.ManifestFile))
}

// Poster records that the poster of a video is another picture. Call it when the storage has the new one.
func (r *Recorder) Poster(ctx context.Context, tx *store.Tx, v video.Video) error {
	return r.record(ctx, tx, v, PosterChanged, []string{video.PosterFile, video.ThumbnailFile}) // without a time, that follows it
}

// Sound records that the MP4 files of a video hold another sound track, or that its playlists tell others.
func (r *Recorder) Sound(ctx context.Context, tx *store.Tx, v video.Video, why Reason) error {
	files := []string{stream.MasterFile, stream.ManifestFile}
	for _, res := range v.Resolutions {
		files = append(files, resolutionFiles(v, res.Name)...)
	}
	return r.record(ctx, tx, v, why, files)
}

// sharedFiles are the files of a stream that belong to no single resolution. The audio is read
// from one of the rendition files.
func sharedFiles() []string {
	return append([]string{video.ThumbnailFile, stream.MasterFile, stream.ManifestFile, stream.ChaptersVTTFile, stream.ChaptersJSONFile}, stream.TrackFiles(stream.AudioTrack)...)
}

// resolutionFiles are the files of a resolution in every codec, as far as their names are known: those
// of its segments follow from its rendition files. A CDN has the other formats of a picture under the
// name of its JPEG.
func resolutionFiles(v video.Video, n video.Name) []string {
	var files []string
	for _, file := range objects.ResolutionFiles(v, n) {
		switch path.Ext(file) {
		case ".mp4":
			files = append(append(files, file), stream.TrackFiles(strings.TrimSuffix(file, ".mp4"))...)
		case ".jpg":
			files = append(files, file)
		}
	}
	return files
}

// listedFiles are a file that a video lists and, if it is text or sound, those that a stream has of it.
func listedFiles(name string) []string {
	files := []string{name}
	if track, ok := strings.CutSuffix(name, ".m4a"); ok {
		files = append(files, stream.TrackFiles(track)...)
	}
	if text, ok := stream.TextName(name); ok {
		files = append(files, stream.TextFiles(text)...)
	}
	return files
}

// record records a purge. No CDN keeps files of a private video.
func (r *Recorder) record(ctx context.Context, tx *store.Tx, v video.Video, why Reason, files []string) error {
	if r == nil || !v.IsPublic {
		return nil
	}
	for i, name := range files {
		if f, ok := stream.Parse(name); ok && f.Track != "" {
			files[i] = stream.Prefix(objects.VersionOf(v.ID, v.Folder())) + name
		}
	}
	slices.Sort(files)
	files = slices.Compact(files) // a video lists its variants, too
	p := purge{id: uuid.Must(uuid.NewV7()).String(), video: v.ID, folder: v.Folder(), reason: why, files: files, createdAt: r.now()}
	if err := insertPurge(ctx, tx, p); err != nil {
		return fmt.Errorf("record a purge: %w", err)
	}
	return r.queue.Enqueue(ctx, tx, queue.Task{Kind: queue.PurgeCDN, ID: p.id, Tenant: v.Tenant, Endpoint: "cdn"})
}
