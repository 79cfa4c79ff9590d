package uploads

import (
	"fmt"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// slots limit how many files arrive at a time in this process for each API key. Each takes a
// connection and open files, and a client that runs wild would take them all.
type slots struct {
	limit int // 0: none

	mu      sync.Mutex
	running map[string]map[video.ID]int // requests for each video, by key
}

func newSlots(limit int) *slots {
	return &slots{limit: limit, running: map[string]map[video.ID]int{}}
}

// retrySlot is when a client should try again that found no slot.
const retrySlot = 5 * time.Second

// enter takes a slot for the file of a video, until leave is called. A later request for the same video
// needs none of its own: it ends the one before it.
func (s *slots) enter(v video.Video) (leave func(), err error) {
	key := v.KeyID
	if key == "" {
		key = "tenant " + string(v.Tenant)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.running[key]
	if s.limit > 0 && mine[v.ID] == 0 && len(mine) >= s.limit {
		return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: retrySlot,
			Msg: fmt.Sprintf("%d files are being uploaded with the same API key, as many as are accepted at a time. Try again when one of them is done.", len(mine))}
	}
	if mine == nil {
		mine = map[video.ID]int{}
		s.running[key] = mine
	}
	mine[v.ID]++
	return func() { s.leave(key, v.ID) }, nil
}

func (s *slots) leave(key string, id video.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.running[key]
	if mine[id]--; mine[id] <= 0 {
		delete(mine, id)
	}
	if len(mine) == 0 {
		delete(s.running, key)
	}
}
