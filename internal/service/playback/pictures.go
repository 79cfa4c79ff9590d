package playback

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Picture returns which file is to be sent for a picture to a client that takes these formats beside
// JPEG: the smallest one that exists beside it, or else the file asked for. That may not exist, or not be
// for this client; Open will say so.
func (p *Player) Picture(ctx context.Context, a Access, file string, takes []video.PictureFormat) string {
	area, err := p.area(ctx, a, file)
	if err != nil {
		return file
	}
	for _, f := range takes {
		name := video.AlternateFile(file, f)
		if p.exists(ctx, area.Prefix(a.Video)+name) && p.exists(ctx, area.Prefix(a.Video)+file) { // it may be left of an earlier pass
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
		if found, known := p.seen.get(key, p.now()); known {
			return found
		}
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, err := p.blobs.Stat(ctx, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false // the JPEG will do, or fail the same way
	}
	if !p.local {
		p.seen.set(key, err == nil, p.now())
	}
	return err == nil
}

const (
	// seenFor is how long it is remembered whether a picture exists in a format.
	seenFor = time.Minute
	// maxSeen is how many of them are remembered.
	maxSeen = 1 << 14
)

// seenKeys remembers which objects exist.
type seenKeys struct {
	mu   sync.Mutex
	keys map[string]seenKey
}

type seenKey struct {
	found bool
	until time.Time
}

func (s *seenKeys) get(key string, now time.Time) (found, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, known := s.keys[key]
	return k.found, known && now.Before(k.until)
}

func (s *seenKeys) set(key string, found bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil || len(s.keys) >= maxSeen { // forgetting all of it costs some requests
		s.keys = map[string]seenKey{}
	}
	s.keys[key] = seenKey{found, now.Add(seenFor)}
}

// forget is for an object that turned out not to exist.
func (s *seenKeys) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
}
