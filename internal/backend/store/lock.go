package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Lock makes every other transaction that locks the same video wait until this one
// ends, so that two transactions never both see themselves as the last. A video
// that is gone or being deleted is not found. Lock comes first in its transaction:
// InTx calls the function again until the video is free.
func (t *Tx) Lock(ctx context.Context, id video.ID) error {
	n, err := t.lock(ctx, id)
	if err == nil && n == 0 {
		return video.VideoNotFound()
	}
	return err
}

// lock returns how many videos it has locked. SQLite has one writer at a time, so
// there is nothing to wait for. PostgreSQL is not asked to wait either: publishing
// a rendition file keeps the video locked for as long as the storage takes to copy
// it, and every transaction that waited inside the database would occupy a
// connection that requests for other videos need.
func (t *Tx) lock(ctx context.Context, id video.ID) (int64, error) {
	if !t.postgres {
		return t.Exec(ctx, "lock video", `UPDATE video SET tenant = tenant WHERE id = $1 AND deleted_at IS NULL`, id)
	}
	const find = `SELECT count(*) FROM (SELECT 1 FROM video WHERE id = $1 AND deleted_at IS NULL`
	n, err := t.countLocked(ctx, find+` FOR NO KEY UPDATE SKIP LOCKED) AS v`, id)
	if err != nil || n > 0 {
		return n, err
	}
	if n, err = t.countLocked(ctx, find+`) AS v`, id); err == nil && n > 0 {
		err = errLocked
	}
	return 0, err
}

func (t *Tx) countLocked(ctx context.Context, query string, id video.ID) (n int64, err error) {
	err = t.db.QueryRowContext(ctx, query, id).Scan(&n)
	return n, Wrap("lock video", err)
}

// errLocked means that another transaction has locked the video.
var errLocked = errors.New("the video is locked")

// lockPause is the pause before the next try to lock a video. It grows from about
// the length of a transaction up to a quarter of a second, and is random so that
// transactions that wait for the same video do not try together.
func lockPause(tries int) time.Duration {
	longest := min(5*time.Millisecond<<min(tries, 10), 250*time.Millisecond)
	return longest/2 + rand.N(longest/2)
}
