package playback

import (
	"container/list"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/engine/webvtt"
)

// textCacheSize is how much memory the captions may take that are being watched.
const textCacheSize = 16 << 20

// textCache keeps captions that were read, the most recently used: a player asks for each of their
// segments. It does not know whether a file still exists: the caller has opened it.
type textCache struct {
	mu      sync.Mutex
	size    int64
	entries map[textVersion]*list.Element
	recent  *list.List // of *cachedText, the most recently used in front
}

type textVersion struct{ key, etag string }

// cachedText is captions, which nobody changes.
type cachedText struct {
	version textVersion
	cues    []webvtt.Cue
	end     time.Duration // of the last one
	size    int64
}

func newTextCache() *textCache {
	return &textCache{entries: map[textVersion]*list.Element{}, recent: list.New()}
}

// get returns captions, and calls read if they are not cached.
func (c *textCache) get(v textVersion, read func() ([]byte, error)) (*cachedText, error) {
	c.mu.Lock()
	if e := c.entries[v]; e != nil {
		c.recent.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*cachedText), nil
	}
	c.mu.Unlock()
	text, err := read()
	if err != nil {
		return nil, err
	}
	cues, err := webvtt.ParseForgiving(text)
	if err != nil {
		return nil, err
	}
	t := &cachedText{version: v, cues: cues, size: int64(len(text))} // parts of the text may stay referenced
	for _, cue := range cues {
		t.end, t.size = max(t.end, cue.End), t.size+96
		for _, line := range cue.Lines {
			t.size += int64(len(line)) + 32
		}
	}
	c.insert(t)
	return t, nil
}

func (c *textCache) insert(t *cachedText) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[t.version] != nil {
		return // another request has read it meanwhile
	}
	c.entries[t.version] = c.recent.PushFront(t)
	for c.size += t.size; c.size > textCacheSize; {
		old := c.recent.Remove(c.recent.Back()).(*cachedText)
		delete(c.entries, old.version)
		c.size -= old.size
	}
}
