package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Lock makes every other transaction that locks the same video wait until this
// one ends, so that two of them never both believe to be the last. A video that
// is gone or being deleted is not found. It comes first in its transaction, whose
// function InTx calls again until the video is free.
func (t *Tx) Lock(ctx context.Context, id video.ID) error {
	n, err := t.lock(ctx, id)
	if err == nil && n == 0 {
		return video.VideoNotFound()
	}
	return err
}

// lock returns how many videos it has locked. SQLite admits one writer at a time,
// so that nobody has to wait here. PostgreSQL is not asked to wait, either: who
// publishes a film keeps its video for as long as the storage takes to copy it,
// and everyone who waited inside the database would keep a connection from those
// who want another video.
func (t *Tx) lock(ctx context.Context, id video.ID) (int64, error) {
	if !t.postgres {
		return t.affected(ctx, "lock video", `UPDATE video SET tenant = tenant WHERE id = $1 AND deleted_at IS NULL`, id)
	}
	const there = `SELECT count(*) FROM (SELECT 1 FROM video WHERE id = $1 AND deleted_at IS NULL`
	n, err := t.count(ctx, there+` FOR NO KEY UPDATE SKIP LOCKED) AS v`, id)
	if err != nil || n > 0 {
		return n, err
	}
	if n, err = t.count(ctx, there+`) AS v`, id); err == nil && n > 0 {
		err = errLocked
	}
	return 0, err
}

func (t *Tx) count(ctx context.Context, query string, id video.ID) (n int64, err error) {
	err = t.db.QueryRowContext(ctx, query, id).Scan(&n)
	return n, wrap("lock video", err)
}

// errLocked means that another transaction has the lock of a video.
var errLocked = errors.New("the video is locked")

// lockPause is how long to wait before the next look at a locked video. It grows
// from about what a transaction takes, up to a quarter of a second, and is never
// the same for two that wait for the same video.
func lockPause(looks int) time.Duration {
	longest := min(5*time.Millisecond<<min(looks, 10), 250*time.Millisecond)
	return longest/2 + rand.N(longest/2)
}
