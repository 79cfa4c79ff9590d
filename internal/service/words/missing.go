package words

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

const (
	lookEvery = time.Hour      // whether there is something to index, or another process does it
	lookAgain = 24 * time.Hour // after this process has looked at all videos
	lookBatch = 100            // videos at a time
)

// Indexer indexes captions that are not in the index: they are older than that, or were restored from a backup.
type Indexer struct {
	Store *store.Store
	Blobs blob.Store
	Now   func() time.Time
	Log   *slog.Logger
}

// Run looks for such captions at once, and then once a day, until ctx ends. One process of the fleet does it at a time; if it
// ends in the middle, another one goes on within an hour.
func (x *Indexer) Run(ctx context.Context) {
	var done time.Time
	for {
		if time.Since(done) >= lookAgain && x.look(ctx) {
			done = time.Now()
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
	}
}

// look indexes what is missing, and reports whether all of it is indexed now.
func (x *Indexer) look(ctx context.Context) bool {
	mine, err := x.Store.AcquireRunOnce(ctx, "index captions", lookEvery, x.Now())
	if err != nil || !mine {
		return false
	}
	n, err := x.IndexMissing(ctx)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		x.Log.WarnContext(ctx, "could not index all captions for the search in what is said", "indexed", n, "err", err)
		return false
	case n > 0:
		x.Log.InfoContext(ctx, "captions indexed for the search in what is said", "files", n)
	}
	return true
}

// IndexMissing indexes all captions that are not in the index, and returns how many files it indexed. It takes at most half of
// a core: others wait for the database.
func (x *Indexer) IndexMissing(ctx context.Context) (n int, err error) {
	var last video.ID
	for {
		began := time.Now()
		videos, err := x.Store.SelectVideos(ctx, fmt.Sprintf(`WHERE id > $1 AND deleted_at IS NULL AND files LIKE '%%"captions-%%' ORDER BY id LIMIT %d`, lookBatch), last)
		if err != nil || len(videos) == 0 {
			return n, err
		}
		ids := make([]video.ID, len(videos))
		for i, v := range videos {
			ids[i] = v.ID
		}
		last = ids[len(ids)-1]
		indexed, err := indexedFiles(ctx, x.Store.Queries, ids)
		if err != nil {
			return n, err
		}
		for _, v := range videos {
			for _, f := range v.Captions() {
				if indexed[v.ID][f.Name] {
					continue
				}
				if err := x.index(ctx, v, f); err != nil {
					return n, err
				}
				n++
				if began, err = pause(ctx, began); err != nil {
					return n, err
				}
			}
		}
		if _, err = pause(ctx, began); err != nil {
			return n, err
		}
	}
}

// pause waits as long as the work since a time took, and returns when it ended.
func pause(ctx context.Context, began time.Time) (time.Time, error) {
	select {
	case <-time.After(time.Since(began)):
		return time.Now(), nil
	case <-ctx.Done():
		return began, ctx.Err()
	}
}

// index indexes a file of a video, unless it is gone meanwhile.
func (x *Indexer) index(ctx context.Context, v video.Video, f video.File) error {
	text, err := x.read(ctx, objects.Playback(v, f.Name))
	if errors.Is(err, fs.ErrNotExist) { // it was replaced, or moves because isPublic changes; the next look finds it
		return nil
	}
	if err != nil {
		return blob.ServiceError("read captions", err)
	}
	return x.Store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, v.ID)
		if err != nil {
			return err
		}
		if _, listed := v.File(f.Name); !listed || !v.DeletedAt.IsZero() {
			return nil
		}
		return Add(ctx, tx, v, f, text)
	})
}

func (x *Indexer) read(ctx context.Context, key string) ([]byte, error) {
	o, err := x.Blobs.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return io.ReadAll(io.LimitReader(o, webvtt.MaxSize))
}
