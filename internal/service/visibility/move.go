package visibility

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

const (
	// batchSize is how many files move under one lock. On SQLite all writes of the service wait for it.
	batchSize = 25
	// batchCopies is how many of them are copied at a time.
	batchCopies = 8
	// batchTimeout is how long a video stays locked for a storage that does not answer.
	batchTimeout = time.Minute
	// copyUnderLock is the size up to which a file is copied while only its video is locked.
	copyUnderLock = 64 << 20
)

// move moves the files of one video.
type move struct {
	*Service
	id       video.ID
	to       video.Visibility
	folders  []video.Folder
	from     objects.Area
	target   objects.Area
	prepared map[string]*preparedCopy // by the key of the original
}

// preparedCopy is a copy of one version of a file that is not visible yet.
type preparedCopy struct {
	blob.Prepared
	etag string
}

func newMove(s *Service, v video.Video, to video.Visibility) *move {
	m := &move{Service: s, id: v.ID, to: to, folders: v.Folders(), from: objects.Private, target: objects.Public, prepared: map[string]*preparedCopy{}}
	if to == video.Private {
		m.from, m.target = m.target, m.from
	}
	return m
}

// move does what is left of a recorded change. It may run in two processes at a time.
func (s *Service) move(ctx context.Context, id video.ID) error {
	v, err := s.store.Video(ctx, id)
	if video.KindOf(err) == video.NotFound || err == nil && v.Moving == "" {
		return nil
	}
	if err != nil {
		return err
	}
	m := newMove(s, v, v.Moving)
	defer m.discard()
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if err := m.open(ctx); err != nil {
		return err
	}
	for {
		if done, err := m.moveBatch(ctx); err != nil || done {
			return err
		}
	}
}

// prepare has files copied where that takes long, before the video is locked. Meanwhile its addresses work as before.
func (m *move) prepare(ctx context.Context) error {
	files, err := m.list(ctx, m.from)
	if err != nil {
		return err
	}
	for _, info := range files {
		if info.Size <= copyUnderLock && !m.store.SingleWriter() {
			continue
		}
		p, err := m.blobs.Prepare(ctx, info.Key, objects.Counterpart(info.Key))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return blob.ServiceError("copy a file", err)
		}
		m.prepared[info.Key] = &preparedCopy{p, info.ETag}
		if err := m.renew(ctx); err != nil {
			return err
		}
	}
	return nil
}

// renew tells other processes that this one is at work.
func (m *move) renew(ctx context.Context) error {
	if m.store.SingleWriter() {
		return nil
	}
	return m.store.WithVideoLock(ctx, m.id, func(tx *store.Tx) error {
		_, err := renew(ctx, tx.Queries, m.id, m.now(), m.now())
		return err
	})
}

func (m *move) discard() {
	for _, p := range m.prepared {
		p.Discard()
	}
}

// open has the row of a video say public before the first file is.
func (m *move) open(ctx context.Context) error {
	if m.to != video.Public {
		return nil
	}
	err := m.store.WithVideoLock(ctx, m.id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, m.id)
		if err != nil || v.Moving != m.to {
			return err
		}
		return setVisibility(ctx, tx, m.id, true, m.to, m.now())
	})
	if err == nil {
		m.hook.Reach(failpoint.VisibilityOpened)
	}
	return err
}

// moveBatch moves some of the files that are left. It reports true if that were all, and the row says so.
func (m *move) moveBatch(ctx context.Context) (done bool, err error) {
	if err := pipeline.CheckStorage(ctx, m.store, m.blobs); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	done = true // so it is of a video that is gone
	err = m.store.WithVideoLock(ctx, m.id, func(tx *store.Tx) error {
		done = true
		v, err := tx.Video(ctx, m.id)
		if err != nil || v.Moving != m.to { // another process has finished
			return err
		}
		m.folders = v.Folders()
		var left []blob.Info
		err = tx.KeepAliveWhile(ctx, func(ctx context.Context) (err error) {
			if left, err = m.list(ctx, m.from); err != nil || len(left) == 0 {
				return err
			}
			return m.moveFiles(ctx, v, left[:min(len(left), batchSize)])
		})
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return m.settle(ctx, tx)
		}
		done = false
		_, err = renew(ctx, tx.Queries, m.id, m.now(), m.now())
		return err
	})
	return done, err
}

// moveFiles moves files of a video that is locked. A file that is in the target area already was copied by a process
// that died, or is newer: only the one here is removed then.
func (m *move) moveFiles(ctx context.Context, v video.Video, files []blob.Info) error {
	arrived, err := m.list(ctx, m.target)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, info := range arrived {
		there[info.Key] = true
	}
	var copying errgroup.Group
	copying.SetLimit(batchCopies)
	keys := make([]string, len(files))
	for i, info := range files {
		keys[i] = info.Key
		_, in, name, _ := objects.Parse(info.Key)
		if f, ok := objects.ParseFile(name); ok && (f.Kept(v) || in != v.Folder()) && !there[objects.Counterpart(info.Key)] {
			prepared := m.take(info)
			copying.Go(func() error { return m.copy(ctx, info, prepared) })
		}
	}
	if err := copying.Wait(); err != nil {
		return blob.ServiceError("move files", err)
	}
	m.hook.Reach(failpoint.VisibilityCopied)
	return pipeline.Remove(ctx, m.blobs, keys)
}

// take returns the copy of this version of a file that was prepared, or nil. It is returned once.
func (m *move) take(info blob.Info) blob.Prepared {
	p := m.prepared[info.Key]
	if p == nil || p.etag != info.ETag {
		return nil
	}
	p.etag = ""
	return p
}

func (m *move) copy(ctx context.Context, info blob.Info, prepared blob.Prepared) (err error) {
	if prepared != nil {
		_, err = prepared.Publish(ctx)
	} else {
		_, err = m.blobs.Copy(ctx, info.Key, objects.Counterpart(info.Key), info.ETag)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// settle ends the move: nothing is left in the other area.
func (m *move) settle(ctx context.Context, tx *store.Tx) error {
	m.hook.Reach(failpoint.VisibilityMoved)
	if m.to == video.Private {
		if err := m.purges.Video(ctx, tx, cdn.VideoPrivate, m.id); err != nil {
			return err
		}
	}
	return setVisibility(ctx, tx, m.id, m.to == video.Public, "", m.now())
}

// clearTarget removes what a crash has left in the area that the files will move to. tx has locked the video.
func (m *move) clearTarget(ctx context.Context, tx *store.Tx) error {
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		stray, err := m.list(ctx, m.target)
		keys := make([]string, len(stray))
		for i, info := range stray {
			keys[i] = info.Key
		}
		if err != nil {
			return err
		}
		return pipeline.Remove(ctx, m.blobs, keys)
	})
}

// list lists the files of the video in an area.
func (m *move) list(ctx context.Context, area objects.Area) ([]blob.Info, error) {
	var all []blob.Info
	for _, in := range m.folders {
		for info, err := range m.blobs.List(ctx, area.Prefix(in)) {
			if err != nil {
				return nil, blob.ServiceError("list files", err)
			}
			all = append(all, info)
		}
	}
	return all, nil
}
