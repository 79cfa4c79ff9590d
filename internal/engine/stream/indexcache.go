package stream

import (
	"container/list"
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/panics"
)

// IndexCache keeps the indexes of rendition files that are being played, up to a
// number of bytes; the least recently used go first. Concurrent requests for an
// index share one read. Only a few indexes are read at the same time, because
// reading takes several times the memory of the result.
//
// The cache does not know whether a file still exists: the caller has opened or
// listed it, and names its version.
type IndexCache struct {
	limit int64
	slots chan struct{} // one for each index that may be read at the same time

	mu      sync.Mutex
	size    int64
	entries map[string]*list.Element // by the file's key
	recent  *list.List               // of *entry, the most recently used in front
	calls   map[entryID]*call
}

type entryID struct{ key, version string }

type entry struct {
	entryID
	index *mp4.Index
	size  int64
}

// call is a read in flight. index and err are set before done is closed.
type call struct {
	done  chan struct{}
	index *mp4.Index
	err   error
}

// NewIndexCache returns a cache that holds at most limit bytes.
func NewIndexCache(limit int64) *IndexCache {
	return &IndexCache{
		limit: limit, slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		entries: map[string]*list.Element{}, recent: list.New(), calls: map[entryID]*call{},
	}
}

// Has reports whether the index of some version of a file is cached.
func (c *IndexCache) Has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[key] != nil
}

// Get returns the index of one version of a file, and calls read if it is not
// cached. Errors are not cached. A panic of read becomes a *panics.Error for every caller that waits for it: callers run in goroutines of their own, in
// which a panic over one damaged file would end the process.
func (c *IndexCache) Get(ctx context.Context, key, version string, read func() (*mp4.Index, error)) (*mp4.Index, error) {
	id := entryID{key, version}
	for {
		c.mu.Lock()
		if e := c.entries[key]; e != nil && e.Value.(*entry).version == version {
			c.recent.MoveToFront(e)
			c.mu.Unlock()
			return e.Value.(*entry).index, nil
		}
		current, inFlight := c.calls[id]
		if !inFlight {
			current = &call{done: make(chan struct{})}
			c.calls[id] = current
		}
		c.mu.Unlock()
		if !inFlight {
			c.run(ctx, id, current, read)
			return current.index, current.err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-current.done:
		}
		// If the caller that read went away, the others try again.
		if !errors.Is(current.err, context.Canceled) {
			return current.index, current.err
		}
	}
}

// run waits for a slot, reads an index and wakes the callers that wait for it.
func (c *IndexCache) run(ctx context.Context, id entryID, current *call, read func() (*mp4.Index, error)) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
		if current.err == nil {
			c.insert(&entry{id, current.index, current.index.Footprint()})
		}
		close(current.done)
	}()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
		current.err = panics.Catch(func() (err error) {
			current.index, err = read()
			return err
		})
	case <-ctx.Done():
		current.err = ctx.Err()
	}
}

// insert adds an entry, which replaces an older version.
func (c *IndexCache) insert(e *entry) {
	if old := c.entries[e.key]; old != nil {
		c.evict(old)
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.size += e.size
	for c.size > c.limit {
		c.evict(c.recent.Back())
	}
}

func (c *IndexCache) evict(element *list.Element) {
	e := c.recent.Remove(element).(*entry)
	delete(c.entries, e.key)
	c.size -= e.size
}
