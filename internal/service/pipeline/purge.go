package pipeline

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// PurgeReason numbers the purges of a video, which gives them names of their own: the purge after a deletion
// must not be skipped because the purge after a pass is running.
type PurgeReason int

const (
	AfterPass     PurgeReason = 0
	AfterDeletion PurgeReason = 1
	AfterTheRest  PurgeReason = 2 // of the work, which follows after a pass
)

// Cancel stops the work on a video and has what it left purged.
func (p *Passes) Cancel(ctx context.Context, tx *store.Tx, id video.ID, why PurgeReason) error {
	if err := p.cancelWork(ctx, tx, id); err != nil {
		return err
	}
	return p.enqueuePurge(ctx, tx, id, why)
}

// cancelWork drops the tasks and the steps of a video.
func (p *Passes) cancelWork(ctx context.Context, tx *store.Tx, id video.ID) error {
	if err := p.queue.Cancel(ctx, tx, id, surviving()...); err != nil {
		return err
	}
	return tx.DropSteps(ctx, id)
}

// enqueuePurge leaves the tenant empty: purging is a tenant of its own, so that it neither waits for
// the thousand videos of a tenant nor takes that tenant's turns.
func (p *Passes) enqueuePurge(ctx context.Context, tx *store.Tx, id video.ID, why PurgeReason) error {
	return p.queue.Enqueue(ctx, tx, newTask(queue.Purge, id, "", int(why)))
}

// removalTimeout is how long a video stays locked for a storage that does not remove objects.
const removalTimeout = 10 * time.Second

// CheckStorage fails if the storage does not answer. It comes before a lock under which objects are
// removed: on SQLite that lock is the only write transaction, and every write of the service would
// wait for a silent storage. What remains is a storage that falls silent in between; then the writes
// wait for removalTimeout. Elsewhere only the video is locked, and nothing is checked.
func CheckStorage(ctx context.Context, s *store.Store, blobs blob.Store) error {
	if !s.SingleWriter() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	if err := blobs.Ping(ctx); err != nil {
		return blob.ServiceError("remove objects", err)
	}
	return nil
}

// RemoveLocked removes objects of a video that tx has locked.
func RemoveLocked(ctx context.Context, tx *store.Tx, blobs blob.Store, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error { return Remove(ctx, blobs, keys) })
}

// Remove removes objects.
func Remove(ctx context.Context, blobs blob.Store, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if err := blobs.Delete(ctx, keys...); err != nil {
		return blob.ServiceError("remove objects", err)
	}
	return nil
}
