// Package cache keeps in memory what is in use, up to a limit.
package cache

import "sync"

// Cache keeps values that nobody changes. It is safe for concurrent use.
//
// It has two generations. The older one is dropped as a whole when the younger is full; what is still
// in use has moved to the younger by then. So finding a value in the younger changes nothing, and
// readers do not wait for each other.
type Cache[K comparable, V any] struct {
	limit int64 // of each generation

	mu         sync.RWMutex
	young, old map[K]entry[K, V]
	size       int64 // of the younger
}

// entry has its key, because that of a later caller may be a part of something large.
type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns a cache of values whose sizes are limit at most together.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit / 2}
}

// Get returns the value of a key, if it is there.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.RLock()
	e, ok := c.young[key]
	if ok {
		c.mu.RUnlock()
		return e.value, true
	}
	e, ok = c.old[key]
	c.mu.RUnlock()
	if ok {
		c.add(e)
	}
	return e.value, ok
}

// Add keeps a value and its key from now on. A value that is larger than half of the limit is not kept.
func (c *Cache[K, V]) Add(key K, value V, size int64) {
	if size <= c.limit {
		c.add(entry[K, V]{key, value, size})
	}
}

func (c *Cache[K, V]) add(e entry[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[e.key]; ok {
		return // another goroutine has added it meanwhile
	}
	if c.size+e.size > c.limit {
		c.old, c.young, c.size = c.young, nil, 0
	}
	if c.young == nil {
		c.young = map[K]entry[K, V]{}
	}
	c.young[e.key] = e
	c.size += e.size
}
