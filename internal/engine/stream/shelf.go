package stream

import (
	"container/list"
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// Shelf keeps the indexes of films that are being watched, within a limit of
// bytes: those that were not asked for the longest go first. An index is read
// once however many ask for it, and only a few are read at once, since reading
// takes several times the memory that the result does.
//
// It says nothing about whether a film is still there: whoever asks has opened
// the film, and says which version it is.
type Shelf struct {
	limit int64
	turns chan struct{} // one for each index that may be read now

	mu     sync.Mutex
	size   int64
	kept   map[string]*list.Element // by the film's key
	recent *list.List               // of *volume, the latest in front
	coming map[volumeID]*arrival
}

type volumeID struct{ key, version string }

type volume struct {
	volumeID
	index *mp4.Index
	size  int64
}

// arrival is an index that is being read.
type arrival struct {
	done  chan struct{}
	index *mp4.Index
	err   error
}

// NewShelf returns a shelf for so many bytes.
func NewShelf(limit int64) *Shelf {
	return &Shelf{
		limit: limit, turns: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		kept: map[string]*list.Element{}, recent: list.New(), coming: map[volumeID]*arrival{},
	}
}

// Has reports whether some version of a film's index is on the shelf.
func (s *Shelf) Has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[key] != nil
}

// Get returns the index of a version of a film. If nobody has it yet, read reads
// it. Errors are not kept.
func (s *Shelf) Get(ctx context.Context, key, version string, read func() (*mp4.Index, error)) (*mp4.Index, error) {
	id := volumeID{key, version}
	for {
		s.mu.Lock()
		if e := s.kept[key]; e != nil && e.Value.(*volume).version == version {
			s.recent.MoveToFront(e)
			s.mu.Unlock()
			return e.Value.(*volume).index, nil
		}
		a, others := s.coming[id]
		if !others {
			a = &arrival{done: make(chan struct{})}
			s.coming[id] = a
		}
		s.mu.Unlock()
		if !others {
			s.fetch(ctx, id, a, read)
			return a.index, a.err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-a.done:
		}
		// Who read it may have left in the middle; that is no reason for others.
		if !errors.Is(a.err, context.Canceled) {
			return a.index, a.err
		}
	}
}

// fetch reads an index when it is its turn, and tells those who wait for it.
func (s *Shelf) fetch(ctx context.Context, id volumeID, a *arrival, read func() (*mp4.Index, error)) {
	a.err = errors.New("reading the index did not come to an end") // should read panic
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.coming, id)
		if a.err == nil {
			s.keep(&volume{id, a.index, a.index.Footprint()})
		}
		close(a.done)
	}()
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
		a.index, a.err = read()
	case <-ctx.Done():
		a.err = ctx.Err()
	}
}

// keep puts an index on the shelf in the place of an older version's.
func (s *Shelf) keep(v *volume) {
	if old := s.kept[v.key]; old != nil {
		s.drop(old)
	}
	s.kept[v.key] = s.recent.PushFront(v)
	s.size += v.size
	for s.size > s.limit {
		s.drop(s.recent.Back())
	}
}

func (s *Shelf) drop(e *list.Element) {
	v := s.recent.Remove(e).(*volume)
	delete(s.kept, v.key)
	s.size -= v.size
}
