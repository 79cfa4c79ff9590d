package playback

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// growingCaches keep what is known of the videos that are being played while they are encoded. Nothing
// in there is served without asking the database first.
type growingCaches struct {
	mu  sync.Mutex
	all map[video.ID]*growingCache
}

const (
	// maxGrowing is how many videos are remembered, and maxTables how much memory the tables of their
	// chunk files may take.
	maxGrowing = 64
	maxTables  = 128 << 20
)

// cacheFor returns what is known of a video.
func (c *growingCaches) cacheFor(id video.ID) *growingCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[video.ID]*growingCache{}
	}
	g := c.all[id]
	if g == nil {
		c.evict()
		g = newGrowingCache()
		c.all[id] = g
	}
	g.used = time.Now()
	return g
}

// evict forgets the videos that were not watched for the longest time.
func (c *growingCaches) evict() {
	size := int64(0)
	for _, g := range c.all {
		size += g.footprint()
	}
	for len(c.all) >= maxGrowing || len(c.all) > 0 && size > maxTables {
		var oldest video.ID
		for id, g := range c.all {
			if oldest == "" || g.used.Before(c.all[oldest].used) {
				oldest = id
			}
		}
		size -= c.all[oldest].footprint()
		delete(c.all, oldest)
	}
}

// growingCache is what is known of one video. A piece never changes under its key.
type growingCache struct {
	used time.Time // guarded by growingCaches.mu

	mu     sync.Mutex
	pieces map[string]*pieceRead
	tracks map[string]joined
	size   int64

	last   *growingVideo // as it was read at a time when the database told this growth
	growth store.Growth
	readAt time.Time
}

// maxKnown is how long what was read of a video is used while its growth is the same. A segment of a long
// video would otherwise cost a plan of hundreds of chunks, and as many steps.
const maxKnown = time.Second

// remember keeps what was read of a video after its growth was.
func (c *growingCache) remember(g *growingVideo, growth store.Growth, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.growth, c.readAt = g, growth, now
}

// recentlyRead returns a video as it was read less than a moment ago, if nothing has changed since.
func (c *growingCaches) recentlyRead(id video.ID, growth store.Growth, now time.Time) *growingVideo {
	c.mu.Lock()
	g := c.all[id]
	if g != nil {
		g.used = time.Now()
	}
	c.mu.Unlock()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.growth != growth || now.Sub(g.readAt).Abs() >= maxKnown {
		return nil
	}
	return g.last
}

func newGrowingCache() *growingCache {
	return &growingCache{pieces: map[string]*pieceRead{}, tracks: map[string]joined{}}
}

// pieceRead is the tables of a piece, or a request's attempt to read them.
type pieceRead struct {
	done  chan struct{} // closed when the others are set
	piece *mp4.Piece
	err   error
}

type joined struct {
	keys     []string
	all      bool
	segments *mp4.Segments
}

func (c *growingCache) footprint() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

const (
	// pieceReads is how many pieces of a track are read at a time. A long video has hundreds, and in a
	// bucket each takes two or three requests.
	pieceReads = 16
	// piecesTimeout is how long the pieces of a track are read when no request waits any more. The next
	// request then finds more of them.
	piecesTimeout = 30 * time.Second
)

// readPiece reads the tables of one piece.
type readPiece func(ctx context.Context, key string) (*mp4.Piece, error)

// read returns pieces. Those that are not known are read, each by one request; the end of that request
// does not end the reading.
func (c *growingCache) read(ctx context.Context, keys []string, read readPiece) ([]*mp4.Piece, error) {
	reads, mine := c.claim(keys)
	if len(mine) > 0 {
		go c.readAll(context.WithoutCancel(ctx), mine, read)
	}
	pieces := make([]*mp4.Piece, len(keys))
	for i, r := range reads {
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, blob.ServiceError("read chunk files", context.Cause(ctx))
		}
		if r.err != nil {
			return nil, r.err
		}
		pieces[i] = r.piece
	}
	return pieces, nil
}

// claim returns what is known of pieces, and the keys of those that the caller has to read.
func (c *growingCache) claim(keys []string) (reads []*pieceRead, mine []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		r := c.pieces[key]
		if r == nil {
			r = &pieceRead{done: make(chan struct{})}
			c.pieces[key], mine = r, append(mine, key)
		}
		reads = append(reads, r)
	}
	return reads, mine
}

// readAll reads the pieces that a request has claimed, a few at a time.
func (c *growingCache) readAll(ctx context.Context, keys []string, read readPiece) {
	ctx, cancel := context.WithTimeout(ctx, piecesTimeout)
	defer cancel()
	slots := make(chan struct{}, pieceReads)
	var reading panics.Group
	for _, key := range keys {
		slots <- struct{}{}
		reading.Go(func() {
			defer func() { <-slots }()
			var piece *mp4.Piece
			var size int64
			err := panics.Catch(func() (err error) {
				if piece, err = read(ctx, key); err == nil {
					size = 2 * piece.Footprint() // its part of the joined track, too
				}
				return err
			})
			c.store(key, piece, size, err)
		})
	}
	reading.Wait()
}

// store ends the reading of a piece. After an error, the next request tries again.
func (c *growingCache) store(key string, piece *mp4.Piece, size int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pieces[key]
	if r.piece, r.err = piece, err; err != nil {
		delete(c.pieces, key)
	}
	c.size += size
	close(r.done)
}

// join returns the segments of a track, and cuts them if the track has grown.
func (c *growingCache) join(name string, parts pipeline.Parts, cut func() (*mp4.Segments, error)) (*mp4.Segments, error) {
	c.mu.Lock()
	known := c.tracks[name]
	c.mu.Unlock()
	if known.segments != nil && known.all == parts.All && slices.Equal(known.keys, parts.Keys) {
		return known.segments, nil
	}
	segments, err := cut()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tracks[name].continues(parts) {
		c.tracks[name] = joined{parts.Keys, parts.All, segments}
	}
	return segments, nil
}

// continues reports whether a joined track has all of these parts and more: they come from a request
// that asked the database earlier.
func (j joined) continues(parts pipeline.Parts) bool {
	n := len(parts.Keys)
	return len(j.keys) >= n && slices.Equal(j.keys[:n], parts.Keys) && (len(j.keys) > n || j.all)
}
