package playback

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// growingCaches hold what was read about videos that are played while they are encoded. The database is
// asked before any of it is served.
type growingCaches struct {
	videos *cache.Cache[video.ID, recentVideo]
	pieces *cache.Cache[string, *mp4.Piece] // by key; a piece never changes under its key
	tracks *cache.Cache[trackID, joined]
}

const (
	// maxGrowing is how many videos are remembered.
	maxGrowing = 64
	// maxTables is how much memory the tables of their chunk files may take. The tracks made from them may
	// take as much again.
	maxTables = 64 << 20
	// maxKnown is how long what was read of a video is used while its version is unchanged. Otherwise each
	// segment of a long video would cost reading a plan of hundreds of chunks, and as many steps.
	maxKnown = time.Second
)

func newGrowingCaches() *growingCaches {
	return &growingCaches{
		videos: cache.New[video.ID, recentVideo](maxGrowing),
		pieces: cache.New[string, *mp4.Piece](maxTables),
		tracks: cache.New[trackID, joined](maxTables),
	}
}

// recentVideo is a video as it was read at one version, which changes with everything that can be played.
type recentVideo struct {
	video  *growingVideo
	readAt time.Time
}

// remember keeps what was read of a video. Its version must have been read before the video.
func (c *growingCaches) remember(g *growingVideo, now time.Time) {
	c.videos.Put(g.ID, recentVideo{g, now}, 1)
}

// recentlyRead returns the video that was read within maxKnown, or nil if there was no such read or
// version has changed since.
func (c *growingCaches) recentlyRead(id video.ID, at version, now time.Time) *growingVideo {
	r, ok := c.videos.Get(id)
	if !ok || r.video.version != at || now.Sub(r.readAt).Abs() >= maxKnown {
		return nil
	}
	return r.video
}

const (
	// pieceReads is how many pieces of a track are read at a time. A long video has hundreds, and in a
	// bucket each takes two or three requests.
	pieceReads = 16
	// piecesTimeout is how long the pieces of a track are read after the request has ended. The next
	// request then finds more of them.
	piecesTimeout = 30 * time.Second
)

// readPiece reads the tables of one piece.
type readPiece func(ctx context.Context, key string) (*mp4.Piece, error)

// read returns pieces. Those that are not known are read, also when the request ends meanwhile: the
// next one then finds them.
func (c *growingCaches) read(ctx context.Context, keys []string, read readPiece) ([]*mp4.Piece, error) {
	pieces := make([]*mp4.Piece, len(keys))
	done := make(chan error, 1)
	go func() { done <- c.readAll(context.WithoutCancel(ctx), keys, pieces, read) }()
	select {
	case err := <-done:
		return pieces, err
	case <-ctx.Done():
		return nil, blob.ServiceError("read chunk files", context.Cause(ctx))
	}
}

// readAll reads pieces, a few at a time. One that fails does not keep it from the others.
func (c *growingCaches) readAll(ctx context.Context, keys []string, pieces []*mp4.Piece, read readPiece) error {
	ctx, cancel := context.WithTimeout(ctx, piecesTimeout)
	defer cancel()
	var reading errgroup.Group
	reading.SetLimit(pieceReads)
	for i, key := range keys {
		if known, ok := c.pieces.Get(key); ok {
			pieces[i] = known
			continue
		}
		reading.Go(func() (err error) {
			pieces[i], err = c.pieces.Do(ctx, key, func() (*mp4.Piece, int64, error) {
				piece, err := read(ctx, key)
				if err != nil {
					return nil, 0, err
				}
				return piece, piece.Footprint(), nil
			})
			return err
		})
	}
	return reading.Wait()
}

// trackID names a track of a video.
type trackID struct {
	video video.ID
	name  string
}

// joined is a track as it was when it had these parts.
type joined struct {
	keys     []string
	all      bool
	segments *mp4.Segments
}

// join returns the segments of a track of these pieces, and cuts them if the track has grown.
func (c *growingCaches) join(id trackID, parts pipeline.Parts, pieces []*mp4.Piece, cut func() (*mp4.Segments, error)) (*mp4.Segments, error) {
	if known, ok := c.tracks.Get(id); ok && known.all == parts.All && slices.Equal(known.keys, parts.Keys) {
		return known.segments, nil
	}
	segments, err := cut()
	if err != nil {
		return nil, err
	}
	if known, _ := c.tracks.Get(id); !known.continues(parts) {
		size := int64(0)
		for _, p := range pieces {
			size += p.Footprint()
		}
		c.tracks.Put(id, joined{parts.Keys, parts.All, segments}, size)
	}
	return segments, nil
}

// continues reports whether a joined track has all of these parts and more. Then the request with these
// parts has read the database earlier than the request that joined the track.
func (j joined) continues(parts pipeline.Parts) bool {
	n := len(parts.Keys)
	return len(j.keys) >= n && slices.Equal(j.keys[:n], parts.Keys) && (len(j.keys) > n || j.all)
}
