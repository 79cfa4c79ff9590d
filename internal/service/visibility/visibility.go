// Package visibility makes public videos private, and private ones public.
//
// The files that people play lie in one of two areas of the storage: anybody may read public/, and a signature opens
// private/. So a change of isPublic moves files, which takes seconds in a bucket. What is to happen is recorded first
// (video.Video.Moving): from then on new files are written to the area that the others move to. If a process dies, any
// other one goes on.
//
// At no instant can a private video be read without a signature, so the order depends on the direction:
//   - public to private: all files leave public/, then the row says private.
//   - private to public: the row says public, then files appear in public/.
//
// A file is copied and then removed while the video is locked, as its publication and its deletion are. What is in the
// area that the files move to is never older than what is left in the other one.
package visibility

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// Service changes who may see videos.
type Service struct {
	store  *store.Store
	blobs  blob.Store
	purges *cdn.Recorder
	now    func() time.Time
	hook   failpoint.Hook
	moves  singleflight.Group // by the video's id

	// Wait is how long a request waits for the files to move. After that it fails, and the move goes on.
	Wait time.Duration
}

const (
	storageWait = 30 * time.Second
	// moveLimit is how long a process works on one video before it begins again with what is left.
	moveLimit = 30 * time.Minute
	// quietFor is how long a move rests before another process takes it over.
	quietFor = time.Minute
)

// New returns a Service. A CDN is told by way of purges.
func New(s *store.Store, blobs blob.Store, purges *cdn.Recorder, now func() time.Time, hook failpoint.Hook) *Service {
	return &Service{store: s, blobs: blobs, purges: purges, now: now, hook: hook, Wait: storageWait}
}

// Set makes a video public or private. When it returns nil, the files have moved and their old addresses are dead.
func (s *Service) Set(ctx context.Context, by auth.Actor, id video.ID, public bool) error {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return err
	}
	if err := pipeline.CheckStorage(ctx, s.store, s.blobs); err != nil {
		return err
	}
	for {
		settled, err := s.record(ctx, id, public)
		if err != nil || settled {
			return err
		}
		s.hook.Reach(failpoint.VisibilityRecorded)
		if err := s.finishSoon(ctx, id); err != nil {
			return err
		}
	}
}

// record records what is to be done. It reports true if that is nothing. While an earlier change is not finished, no
// other one is recorded.
func (s *Service) record(ctx context.Context, id video.ID, public bool) (settled bool, err error) {
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		v, err := tx.Video(ctx, id)
		if err != nil || v.Moving != "" {
			return err
		}
		if settled = v.IsPublic == public; settled {
			return nil
		}
		if err := checkNotReplaced(ctx, tx, id); err != nil {
			return err
		}
		m := newMove(s, v, visibilityOf(public))
		if err := m.clearTarget(ctx, tx); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: actionOf(public), Video: id}); err != nil {
			return err
		}
		return setVisibility(ctx, tx, id, v.IsPublic, m.to, s.now())
	})
	return settled, err
}

// checkNotReplaced returns an error while a file is on its way that will replace the one of the video, also if it has failed
// and may be tried again: it was made for everybody, or for few.
func checkNotReplaced(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, found, err := tx.ReplacementOf(ctx, id)
	if err == nil && found {
		err = video.ReplaceOpen()
	}
	return err
}

func actionOf(public bool) video.Action {
	if public {
		return video.ActionVideoPublish
	}
	return video.ActionVideoHide
}

func visibilityOf(public bool) video.Visibility {
	if public {
		return video.Public
	}
	return video.Private
}

// finishSoon moves the files of a video. A request that has waited long enough is told that the move goes on.
func (s *Service) finishSoon(ctx context.Context, id video.ID) error {
	timer := time.NewTimer(s.Wait)
	defer timer.Stop()
	select {
	case r := <-s.moving(ctx, id):
		return r.Err
	case <-timer.C:
		return &video.Error{Kind: video.Unavailable, Code: "storage_unavailable", RetryAfter: 5 * time.Second,
			Msg: "The change of isPublic is recorded, but not finished, because the storage takes long to move the files. It goes on; send the request again to wait for it.",
			Err: fmt.Errorf("the storage has not moved the files within %s", s.Wait)}
	}
}

// moving moves the files of a video, unless this process does so already. It does not end with its request.
func (s *Service) moving(ctx context.Context, id video.ID) <-chan singleflight.Result {
	return s.moves.DoChan(string(id), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveLimit)
		defer cancel()
		return nil, panics.Catch(func() error { return s.move(ctx, id) })
	})
}

// Resume goes on with moves that their processes did not finish.
func (s *Service) Resume(ctx context.Context, log *slog.Logger) {
	before := s.now().Add(-quietFor)
	if s.store.SingleWriter() { // there is no other process, and this one knows what it works on
		before = s.now().Add(time.Hour)
	}
	ids, err := unfinished(ctx, s.store.Queries, before)
	if err != nil {
		log.WarnContext(ctx, "could not look for videos whose files have to move", "err", err)
		return
	}
	for _, id := range ids {
		if mine, err := s.claim(ctx, id, before); err != nil || !mine {
			continue // the next round finds it again
		}
		select {
		case r := <-s.moving(ctx, id):
			if r.Err != nil {
				log.WarnContext(ctx, "could not move the files of a video; it is tried again", "video", id, "err", r.Err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// claim reports whether this process is the one that goes on with a move.
func (s *Service) claim(ctx context.Context, id video.ID, before time.Time) (mine bool, err error) {
	err = s.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		mine, err = renew(ctx, tx.Queries, id, s.now(), before)
		return err
	})
	return mine, err
}
