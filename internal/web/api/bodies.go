package api

import (
	"context"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// smallBody is the size up to which a body needs no slot. A request that makes sense fits, so
	// nobody waits because others send large bodies.
	smallBody = 32 << 10
	// maxLargeBodies and maxLargeBodiesPerKey are how many larger bodies are read and decoded at
	// once. Each takes up to maxBody, and about as much again while it is decoded.
	maxLargeBodies       = 16
	maxLargeBodiesPerKey = 4
	// bodySlotTimeout is how long a request waits for a slot.
	bodySlotTimeout = 5 * time.Second
)

// bodySlots limits how many large bodies are in memory at the same time: in the process, and for
// each key, so that a client that sends slowly does not take the slots of the others.
type bodySlots struct {
	all chan struct{} // has an element for each slot that is taken

	mu    sync.Mutex
	byKey map[string]*keySlots // of keys that use or wait for slots
}

type keySlots struct {
	taken chan struct{}
	users int // requests that use or wait for a slot
}

func newBodySlots() *bodySlots {
	return &bodySlots{all: make(chan struct{}, maxLargeBodies), byKey: map[string]*keySlots{}}
}

// acquire waits for a slot. The caller must release it.
func (s *bodySlots) acquire(ctx context.Context, key string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, bodySlotTimeout)
	defer cancel()
	own := s.join(key)
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		s.leave(key)
		return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited",
			Msg: "This API key sends too many large request bodies at once.", RetryAfter: bodySlotTimeout}
	}
	select {
	case s.all <- struct{}{}:
	case <-ctx.Done():
		<-own.taken
		s.leave(key)
		return nil, &video.Error{Kind: video.Unavailable, Code: "overloaded",
			Msg: "The server reads as many large request bodies as it can. Try again later.", RetryAfter: bodySlotTimeout}
	}
	return func() {
		<-s.all
		<-own.taken
		s.leave(key)
	}, nil
}

func (s *bodySlots) join(key string) *keySlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byKey[key]
	if own == nil {
		own = &keySlots{taken: make(chan struct{}, maxLargeBodiesPerKey)}
		s.byKey[key] = own
	}
	own.users++
	return own
}

func (s *bodySlots) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byKey[key]
	if own.users--; own.users == 0 {
		delete(s.byKey, key)
	}
}
