package playback

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
)

// cutCacheSize is how much memory the heads of segments may take that are being watched. That of a
// segment of six seconds takes some 3 KB.
const cutCacheSize = 16 << 20

// cut is a segment: where its bytes are, and their ETag. Nobody changes it.
type cut struct {
	parts []mp4.Part
	etag  string
}

func newCut(parts []mp4.Part, of blob.Info) cut {
	hash := sha256.New()
	hash.Write([]byte(of.ETag))
	for _, p := range parts {
		hash.Write(p.Bytes)
	}
	return cut{parts, hex.EncodeToString(hash.Sum(nil)[:16])}
}

// footprint is about how much memory c takes.
func (c cut) footprint() int64 {
	size := int64(200)
	for _, p := range c.parts {
		size += int64(cap(p.Bytes)) + 40
	}
	return size
}

// cutID names a segment of one version of a rendition file.
type cutID struct {
	key, etag string
	track     string
	frame     bool
	number    int
}

func newCutID(of blob.Info, f stream.File) cutID {
	return cutID{of.Key, of.ETag, f.Track, f.Kind == stream.Frame, f.Number}
}

// cutCache keeps segments that were cut: making the head of one takes as long as sending 100 KB. It does
// not know whether a file still exists: the caller has opened it.
//
// Of two generations, the older one is dropped as a whole when the younger is full; what is still in
// use has moved to the younger by then.
type cutCache struct {
	mu         sync.RWMutex
	young, old map[cutID]cut
	size       int64 // of the younger
}

// get returns a segment, and calls read if it is not cached.
func (c *cutCache) get(id cutID, read func() (cut, error)) (cut, error) {
	c.mu.RLock()
	found, ok := c.young[id]
	if ok {
		c.mu.RUnlock()
		return found, nil
	}
	found, ok = c.old[id]
	c.mu.RUnlock()
	if !ok {
		var err error
		if found, err = read(); err != nil {
			return cut{}, err
		}
	}
	id.track = strings.Clone(id.track) // not the whole path that it is a part of
	c.keep(id, found)
	return found, nil
}

func (c *cutCache) keep(id cutID, x cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[id]; ok {
		return // another request has cut it meanwhile
	}
	size := x.footprint()
	if c.size+size > cutCacheSize/2 {
		c.old, c.young, c.size = c.young, nil, 0
	}
	if c.young == nil {
		c.young = map[cutID]cut{}
	}
	c.young[id] = x
	c.size += size
}
