package janitor

import (
	"context"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	AbandonedAfter time.Duration // after the address expired, until an upload is given up
	KeepSource     bool          // keep the source when all resolutions are done
}

// minKeepFailed is longer than a completion of an upload may still be running (uploads.CompletionLimit).
const minKeepFailed = 24 * time.Hour

// keepFailed returns how long a video can be read after its upload was abandoned: by default, seven days.
func (c Config) keepFailed() time.Duration { return max(minKeepFailed, 7*c.AbandonedAfter) }

// owner is what the database says about the video that the objects in a folder belong to.
type owner struct {
	folder video.Folder
	exists bool
	video  video.Video
	needs  pipeline.Kept // what open steps need
}

// database is what is read about an owner, from a transaction or from outside.
type database interface {
	OwnerOf(context.Context, video.Folder) (video.ID, error)
	Video(context.Context, video.ID) (video.Video, error)
	Steps(context.Context, video.ID) ([]store.Step, error)
}

func loadOwner(ctx context.Context, db database, in video.Folder) (owner, error) {
	o := owner{folder: in}
	id, v, err := ownerOf(ctx, db, in)
	if err != nil {
		if video.KindOf(err) == video.NotFound {
			err = nil
		}
		return o, err
	}
	o.video, o.exists = v, v.DeletedAt.IsZero()
	steps, err := db.Steps(ctx, id)
	o.needs = pipeline.Keeps(steps)
	return o, err
}

// ownerOf returns the video that a folder belongs to. When a file is replaced, the folder gets another owner, and the row of
// the one before goes: so a row that is missing says nothing before the folder has no owner either.
func ownerOf(ctx context.Context, db database, in video.Folder) (video.ID, video.Video, error) {
	for {
		id, err := db.OwnerOf(ctx, in)
		if err != nil {
			return "", video.Video{}, err
		}
		v, err := db.Video(ctx, id)
		if video.KindOf(err) != video.NotFound {
			return id, v, err
		}
	}
}

// copyGrace is the age at which a copy of a source that no video has recorded is removed.
//
// A completion copies the file, which may take hours, and then records the copy. The upload window may
// end in between, so it is not enough to keep copies until then: the accepted video would have no
// source. A completion does not record a copy older than uploads.CompletionLimit. The rest of the
// grace is for clocks that differ, and for a transaction that waits. The age follows from the time in the
// key, which was taken from the same clock as the limit. The storage's own time would be wrong: a bucket
// has another clock, and on a disk a copy is a link with the time of the upload.
const copyGrace = 2 * uploads.CompletionLimit

// rules say which objects are kept.
type rules struct {
	config Config
	now    func() time.Time
}

// isNeeded reports whether the owner of an object still needs it. It is the one rule about retention:
// purges and sweeps remove everything else.
func (r rules) isNeeded(o owner, key string) bool {
	if !o.exists {
		return false
	}
	area, in, rest, _ := objects.Parse(key)
	v := o.video
	if in != v.Folder() { // of the file before
		return in == v.BeforeIn && r.now().Before(v.BeforeUntil) && isPlayed(v, area)
	}
	working := v.Status == video.Processing || o.needs.Work
	open := v.CompletedAt.IsZero() && r.now().Before(v.UploadExpiresAt.Add(r.config.AbandonedAfter))
	switch area {
	case objects.Uploads:
		return open
	case objects.Sources:
		// While the upload is open, a copy may belong to a completion that is running.
		if objects.IsTrackSource(key) { // it is recorded after it has arrived
			return v.AwaitsUpload(key) || r.isRecent(key)
		}
		return open || v.CompletedAt.IsZero() && r.isRecent(key) ||
			(key == v.Source.Key || key == objects.Still(in)) && (working || o.needs.Source || r.config.KeepSource || waitsForQuota(v))
	case objects.Work:
		return working || o.needs.Staged && objects.IsStagedFile(key) || o.needs.Variants && objects.IsVariantWork(key)
	}
	file, ok := objects.ParseFile(rest)
	return ok && file.Kept(v) && isPlayed(v, area)
}

// isPlayed reports whether files of a video that people play may lie in an area.
func isPlayed(v video.Video, area objects.Area) bool {
	return objects.PlaybackArea(v) == area || v.Moving != "" && (area == objects.Public || area == objects.Private)
}

// waitsForQuota reports whether a resolution was not made because a limit of the tenant was used up. Its
// failure says that it can be retried on another day, so there must be something to make it from.
func waitsForQuota(v video.Video) bool {
	return slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool {
		return r.Status == video.Fail && r.Failure != nil && r.Failure.Code == video.QuotaExceeded
	})
}

// isRecent reports whether a completion may still record this copy of a source. A time far in the future
// comes from a wrong clock.
func (r rules) isRecent(key string) bool {
	begun, ok := objects.SourceBegun(key)
	return ok && r.now().Sub(begun).Abs() < copyGrace
}
