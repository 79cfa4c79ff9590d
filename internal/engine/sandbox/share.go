//go:build unix

package sandbox

import (
	"errors"
	"sync"
)

// threadShare is what the children may have together, where a container or the
// user has a limit of processes: a server that cannot start a thread dies.
type threadShare struct {
	mu    sync.Mutex
	limit int // 0 means none
	has   map[*threadGuard]int
}

var errShare = errors.New("the other programs have too many threads")

// newThreadShare keeps a quarter of a limit, and at most 512, for the server.
func newThreadShare(limit int) *threadShare {
	return &threadShare{limit: limit - min(limit/4, 512), has: map[*threadGuard]int{}}
}

// take notes that a child wants to have n threads.
func (s *threadShare) take(g *threadGuard, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := n
	for other, has := range s.has {
		if other != g {
			sum += has
		}
	}
	if s.limit > 0 && sum > s.limit {
		return errShare
	}
	s.has[g] = n
	return nil
}

func (s *threadShare) leave(g *threadGuard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.has, g)
}
