package uploads

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

// slots limit how many files arrive at a time in this process for each tenant. Each takes a
// connection and open files, and a client that runs wild would take them all.
type slots struct {
	most     int
	byTenant *limit.Shares[video.Tenant]

	mu      sync.Mutex
	running map[video.ID]*slot
}

// slot is held by a video while its file arrives.
type slot struct {
	requests int
	release  func()
}

// newSlots returns so many slots for each tenant; 0: no limit.
func newSlots(most int) *slots {
	each := int64(most)
	if most == 0 {
		each = math.MaxInt64
	}
	return &slots{most: most, byTenant: limit.NewShares[video.Tenant](each, nil), running: map[video.ID]*slot{}}
}

// retrySlot is when a client should try again that found no slot.
const retrySlot = 5 * time.Second

// enter takes a slot for the file of a video, until leave is called. A later request for the same video
// needs none of its own: it ends the one before it.
func (s *slots) enter(v video.Video) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.running[v.ID]
	if own == nil {
		release, err := s.byTenant.TryAcquire(v.Tenant, 1)
		if err != nil {
			return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: retrySlot,
				Msg: fmt.Sprintf("You are uploading %d files, the most that this server accepts at a time. Try again when one is done.", s.most)}
		}
		own = &slot{release: release}
		s.running[v.ID] = own
	}
	own.requests++
	return func() { s.release(v.ID) }, nil
}

func (s *slots) release(id video.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.running[id]
	if own.requests--; own.requests == 0 {
		own.release()
		delete(s.running, id)
	}
}
