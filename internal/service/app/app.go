// Package app decides: who may do what, which status follows which, what an
// object's key is, and what belongs into one transaction. Requests and due tasks
// both come through it, so every rule is written once.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	UploadURLTTL      time.Duration // how long an upload address lives
	MaxUploadBytes    int64         // largest file accepted in one request
	ResumableURLTTL   time.Duration // how long an address for an upload in pieces lives
	MaxResumableBytes int64         // largest file accepted in pieces
	MinFree           int64         // bytes of storage that uploads and tasks leave free
	AbandonedAfter    time.Duration // after the address expired, until an upload is given up
	KeepSource        bool          // keep the uploaded file when all resolutions are done
	Upscale           bool          // blow small sources up unless a client says otherwise
	MeasureQuality    bool          // compare finished films with their source
	Redirect          bool          // send players to the storage, where it can serve them
}

// App is the service behind the HTTP edge and the workers.
type App struct {
	cfg     Config
	store   *store.Store
	queue   queue.Queue
	blobs   blob.Store
	admit   func(head []byte) error
	ring    *keyring
	log     *slog.Logger
	observe Observer

	now     func() time.Time
	newID   func() string
	reached func(Point)

	holds    *holds             // of uploads in pieces
	redirect blob.Presigner     // nil: films are served from here
	shelf    *stream.IndexCache // indexes of films that are streamed
	clock    *databaseClock     // nil: somebody else's is used
}

// Point is a place between two writes that belong together, where a crash
// leaves one without the other. Tests kill the process at each of them.
type Point string

const (
	UploadStored     Point = "upload-stored"     // the bytes are there, the client does not know
	SourcePinned     Point = "source-pinned"     // the copy is there, the video not yet processing
	UploadAccepted   Point = "upload-accepted"   // processing, the uploaded object not yet removed
	PiecesKept       Point = "pieces-kept"       // pieces are there, their step not yet done
	FilmStaged       Point = "film-staged"       // the film is there, not yet published
	FilmPublished    Point = "film-published"    // playable, the transaction not yet committed
	ThumbnailsStaged Point = "thumbnails-staged" // stills are there, not yet published
	VideoCondemned   Point = "video-condemned"   // hidden, its objects still there
	ObjectsRemoved   Point = "objects-removed"   // objects gone, the row still there
	ResolutionGone   Point = "resolution-gone"   // the row is gone, objects perhaps not
)

// Points lists all of them.
var Points = []Point{UploadStored, SourcePinned, UploadAccepted, PiecesKept, FilmStaged, FilmPublished,
	ThumbnailsStaged, VideoCondemned, ObjectsRemoved, ResolutionGone}

// Observer is told what an operator wants to count.
type Observer interface {
	Uploaded(bytes int64)
	VideoFinished(s video.Status, f *video.Failure)
}

// Parts are what an App is made of.
type Parts struct {
	Store    *store.Store
	Queue    queue.Queue
	Blobs    blob.Store
	Admit    func(head []byte) error // is a *video.Failure when a file that begins so is no video
	Log      *slog.Logger
	Observer Observer
	Now      func() time.Time // nil: the clock
	Reached  func(Point)      // nil: nobody is told
}

// New returns an App on these parts. It makes the first signing key if there is
// none yet.
func New(ctx context.Context, cfg Config, p Parts) (*App, error) {
	a := &App{
		cfg: cfg, store: p.Store, queue: p.Queue, blobs: p.Blobs, admit: p.Admit, log: p.Log, observe: p.Observer,
		now: p.Now, newID: newUUID, reached: p.Reached, shelf: stream.NewIndexCache(shelfLimit), holds: newHolds(p.Store),
	}
	if a.reached == nil {
		a.reached = func(Point) {}
	}
	if a.now == nil {
		a.clock = &databaseClock{ask: p.Store.Now}
		if err := a.clock.adjust(ctx); err != nil {
			return nil, err
		}
		a.now = a.clock.Now
	}
	if cfg.Redirect {
		a.redirect = p.Blobs.Capabilities().Presign
	}
	a.ring = &keyring{Keyring: sign.NewKeyring(), store: p.Store, now: a.now}
	return a, a.prepareSigning(ctx)
}

// newUUID returns ids that sort by the time they were made, which keeps new
// rows together in the database's indexes.
func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

// Ready reports whether the database and the storage answer.
func (a *App) Ready(ctx context.Context) error {
	if err := a.store.Ping(ctx); err != nil {
		return err
	}
	if err := a.blobs.Ping(ctx); err != nil {
		return storageError("check storage", err)
	}
	return nil
}

// storageError classifies what a blob store could not do.
func storageError(op string, err error) error {
	err = fmt.Errorf("%s: %w", op, err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, blob.ErrFull):
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage",
			Msg: "The server has no room for this file now. Try again later.", RetryAfter: time.Minute, Err: err}
	}
	return &video.Error{Kind: video.Unavailable, Code: "storage_unavailable",
		Msg: "The storage does not answer. Try again shortly.", RetryAfter: 5 * time.Second, Err: err}
}

// owned returns a video that the actor may see, for an operation of scope s.
func (a *App) owned(ctx context.Context, by Actor, s Scope, id video.ID) (video.Video, error) {
	if err := by.must(s); err != nil {
		return video.Video{}, err
	}
	v, err := a.store.Video(ctx, id)
	if err != nil {
		return video.Video{}, err
	}
	if v.Tenant != by.Tenant {
		return video.Video{}, video.VideoNotFound()
	}
	return v, nil
}

// visible is owned for a video that is not being deleted.
func (a *App) visible(ctx context.Context, by Actor, s Scope, id video.ID) (video.Video, error) {
	v, err := a.owned(ctx, by, s, id)
	if err == nil && !v.DeletedAt.IsZero() {
		return video.Video{}, video.VideoNotFound()
	}
	return v, err
}
