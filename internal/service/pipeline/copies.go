package pipeline

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spool-video/spool/internal/backend/blob"
)

// copies are copies of staged objects that are prepared before a lock is taken and published under it.
//
// On SQLite the lock of a video is the only write transaction, so all writes of the service wait for
// what happens inside. What remains there is one request for each copy, which takes a moment however
// large the file is, and which cannot be done earlier: a copy must not appear after its video was
// deleted. If the storage falls silent just then, the writes wait until that request fails.
type copies struct {
	blobs    blob.Store
	prepared map[string]blob.Prepared // not yet published, by the key of the copy
	failed   []blob.Prepared          // whose publication failed
}

func newCopies(blobs blob.Store) *copies {
	return &copies{blobs: blobs, prepared: map[string]blob.Prepared{}}
}

// prepare has an object copied where that takes long. One that is missing was published and purged by
// another execution of the same task: the transaction will tell.
func (c *copies) prepare(ctx context.Context, from, to string) error {
	p, err := c.blobs.Prepare(ctx, from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.prepared[to] = p
	return nil
}

// publish makes a copy visible. One that is not prepared is made as a whole.
func (c *copies) publish(ctx context.Context, from, to string) error {
	p, ok := c.prepared[to]
	if !ok {
		_, err := c.blobs.Copy(ctx, from, to, "")
		return err
	}
	delete(c.prepared, to) // if the transaction collides and runs again, it is copied again
	_, err := p.Publish(ctx)
	if err != nil {
		c.failed = append(c.failed, p) // aborting it may take a while, and the caller holds a lock
		return err
	}
	p.Discard()
	return nil
}

// discard removes what was not published.
func (c *copies) discard() {
	for _, p := range c.prepared {
		p.Discard()
	}
	for _, p := range c.failed {
		p.Discard()
	}
}
