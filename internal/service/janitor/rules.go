package janitor

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	AbandonedAfter time.Duration // after the address expired, until an upload is given up
	KeepSource     bool          // keep the source when all resolutions are done
}

// owner is what the database says about a video that objects belong to.
type owner struct {
	id          video.ID
	exists      bool
	video       video.Video
	keepsWork   bool // an open step needs chunk files and the source
	keepsSource bool // an open step needs the source
}

// database is what is read about an owner, from a transaction or from outside.
type database interface {
	Video(context.Context, video.ID) (video.Video, error)
	Steps(context.Context, video.ID) ([]store.Step, error)
}

func loadOwner(ctx context.Context, db database, id video.ID) (owner, error) {
	o := owner{id: id}
	v, err := db.Video(ctx, id)
	if err != nil {
		if video.KindOf(err) == video.NotFound {
			err = nil
		}
		return o, err
	}
	o.video, o.exists = v, v.DeletedAt.IsZero()
	steps, err := db.Steps(ctx, id)
	o.keepsWork, o.keepsSource = pipeline.Keeps(steps)
	return o, err
}

// rules say which objects are kept.
type rules struct {
	config Config
	now    func() time.Time
}

// keeps reports whether the owner of an object still needs it. It is the one rule about retention:
// purges and sweeps remove everything else.
func (r rules) keeps(o owner, key string) bool {
	if !o.exists {
		return false
	}
	area, _, rest, _ := objects.Parse(key)
	v := o.video
	working := v.Status == video.Processing || o.keepsWork
	open := v.CompletedAt.IsZero() && r.now().Before(v.UploadExpiresAt.Add(r.config.AbandonedAfter))
	switch area {
	case objects.Uploads:
		return open
	case objects.Sources:
		// While the upload is open, a copy may belong to a completion that is running.
		return open || key == v.Source.Key && (working || o.keepsSource || r.config.KeepSource)
	case objects.Work:
		return working
	}
	name, thumbnail, ok := objects.ParsePlaybackFile(rest)
	res, has := v.Resolution(name)
	return ok && has && res.Status != video.Fail && thumbnail < len(v.Thumbnails) && objects.PlaybackArea(v) == area
}
