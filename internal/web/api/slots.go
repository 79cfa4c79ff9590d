package api

import (
	"context"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// slotTimeout is how long a request waits for a slot.
const slotTimeout = 5 * time.Second

// slots limits how many requests of one kind run at the same time: in the process, and for each
// key, so that no client takes the slots of the others.
type slots struct {
	perKey           int
	keyFull, allFull string        // what a request is told that got no slot
	all              chan struct{} // has an element for each slot that is taken

	mu    sync.Mutex
	byKey map[string]*keySlots // of keys that use or wait for slots
}

type keySlots struct {
	taken chan struct{}
	users int // requests that use or wait for a slot
}

func newSlots(n, perKey int, keyFull, allFull string) *slots {
	return &slots{perKey: perKey, keyFull: keyFull, allFull: allFull, all: make(chan struct{}, n), byKey: map[string]*keySlots{}}
}

// acquire waits for a slot. The caller must release it.
func (s *slots) acquire(ctx context.Context, key string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	own := s.join(key)
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		s.leave(key)
		return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited", Msg: s.keyFull, RetryAfter: slotTimeout}
	}
	select {
	case s.all <- struct{}{}:
	case <-ctx.Done():
		<-own.taken
		s.leave(key)
		return nil, &video.Error{Kind: video.Unavailable, Code: "overloaded", Msg: s.allFull, RetryAfter: slotTimeout}
	}
	return func() {
		<-s.all
		<-own.taken
		s.leave(key)
	}, nil
}

func (s *slots) join(key string) *keySlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byKey[key]
	if own == nil {
		own = &keySlots{taken: make(chan struct{}, s.perKey)}
		s.byKey[key] = own
	}
	own.users++
	return own
}

func (s *slots) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byKey[key]
	if own.users--; own.users == 0 {
		delete(s.byKey, key)
	}
}
