// Package cache keeps values in memory. Callers that ask for the same missing value at the same time share one call
// that produces it.
package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/spool-video/spool/internal/panics"
)

// Cache keeps values that do not change, up to a number of bytes: the least recently used go first.
// It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit   int64
	evicted func(V) // is told of each value that goes; nil: nothing is
	flights singleflight.Group

	mu      sync.Mutex
	size    int64
	entries map[K]*list.Element
	making  map[K]*int // what is being produced: a pointer for each call
	recent  list.List  // of entry[K, V], the most recently used in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns a cache of values whose sizes are limit at most together.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}, making: map[K]*int{}}
}

// NewEvicting is New of values that hold something: evicted is called with each one that is not kept any more, while
// the cache is locked.
func NewEvicting[V any](limit int64, evicted func(V)) *Cache[string, V] {
	c := New[string, V](limit)
	c.evicted = evicted
	return c
}

// Get returns the value of a key, if it is there.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Put keeps a value, in place of an earlier one of the key. A value that is larger than the limit is
// not kept.
func (c *Cache[K, V]) Put(key K, value V, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, size)
}

func (c *Cache[K, V]) put(key K, value V, size int64) {
	c.remove(key)
	if size > c.limit {
		return
	}
	c.entries[key] = c.recent.PushFront(entry[K, V]{key, value, size})
	c.size += size
	for c.size > c.limit {
		c.remove(c.recent.Back().Value.(entry[K, V]).key)
	}
}

// Delete forgets the value of a key, also one that is being produced: only callers that wait for it already get it.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	if c.making[key] != nil {
		delete(c.making, key)
		c.flights.Forget(flightOf(key))
	}
}

func (c *Cache[K, V]) remove(key K) {
	if e, ok := c.entries[key]; ok {
		gone := c.recent.Remove(e).(entry[K, V])
		c.size -= gone.size
		delete(c.entries, key)
		if c.evicted != nil {
			c.evicted(gone.value)
		}
	}
}

// Do returns the value of a key. If it is missing, Do calls produce, once for all callers that ask at the
// same time. Errors are not kept, and a panic of produce is an error for all of them. produce uses the ctx of
// its caller: if that caller goes away, the others try again.
func (c *Cache[K, V]) Do(ctx context.Context, key K, produce func() (value V, size int64, err error)) (V, error) {
	return c.DoUnless(ctx, key, func(V) bool { return false }, produce)
}

// DoUnless is Do for values that become old: it produces another one in the place of one that is. A value stays where
// producing the next one fails.
func (c *Cache[K, V]) DoUnless(ctx context.Context, key K, old func(V) bool, produce func() (value V, size int64, err error)) (V, error) {
	for {
		if value, ok := c.Get(key); ok && !old(value) {
			return value, nil
		}
		mine := false
		produced, err, _ := c.flights.Do(flightOf(key), func() (any, error) {
			mine = true
			return c.produce(key, old, produce)
		})
		value, _ := produced.(V)
		switch {
		case mine || !errors.Is(err, context.Canceled):
			return value, err
		case ctx.Err() != nil:
			return value, ctx.Err()
		}
	}
}

func (c *Cache[K, V]) produce(key K, old func(V) bool, produce func() (V, int64, error)) (value V, err error) {
	if value, ok := c.Get(key); ok && !old(value) { // since a moment ago
		return value, nil
	}
	this := new(int)
	c.mu.Lock()
	c.making[key] = this
	c.mu.Unlock()
	var size int64
	err = panics.Catch(func() (err error) {
		value, size, err = produce()
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.making[key] != this { // deleted meanwhile
		return value, err
	}
	delete(c.making, key)
	if err == nil {
		c.put(key, value, size)
	}
	return value, err
}

// flightOf names the call that produces the value of a key.
func flightOf[K comparable](key K) string { return fmt.Sprintf("%#v", key) }
