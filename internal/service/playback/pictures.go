package playback

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Picture returns which file is to be sent for a picture to a client that takes these formats beside
// JPEG: the smallest one that exists beside it, or else the file asked for. That may not exist, or not be
// for this client; Open will say so.
func (p *Player) Picture(ctx context.Context, a Access, file string, takes []video.PictureFormat) string {
	at, err := p.place(ctx, a, file)
	if err != nil {
		return file
	}
	for _, f := range takes {
		name := video.AlternateFile(file, f)
		if p.exists(ctx, at.prefix()+name) && p.exists(ctx, at.prefix()+file) { // it may be left of an earlier pass
			return name
		}
	}
	return file
}

// exists reports whether an object is there. Another storage than a disk is asked once in a while: what
// it said before saves a request for every picture, and a file that was deleted since is not sent
// because of it.
func (p *Player) exists(ctx context.Context, key string) bool {
	if !p.local {
		if k, known := p.seen.Get(key); known && p.now().Before(k.until) {
			return k.found
		}
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, err := p.blobs.Stat(ctx, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false // the JPEG will do, or fail the same way
	}
	if !p.local {
		p.seen.Put(key, seenKey{err == nil, p.now().Add(seenFor)}, int64(len(key))+150)
	}
	return err == nil
}

const (
	// seenFor is how long it is remembered whether a picture exists in a format.
	seenFor = time.Minute
	// seenCacheSize is how much memory that may take.
	seenCacheSize = 4 << 20
)

// seenKey says whether an object existed a moment ago.
type seenKey struct {
	found bool
	until time.Time
}
