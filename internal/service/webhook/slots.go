package webhook

import (
	"sync"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Limits of the requests that a process has under way.
const (
	maxPerTenant  = 64
	maxPerLane    = 4      // of a webhook that answers
	maxRemembered = 10_000 // lanes whose last outcome is known
)

// slots counts the requests under way.
type slots struct {
	mu      sync.Mutex
	most    int // in all
	total   int
	failing int // those to webhooks that failed last time: they get half of the slots
	tenants map[video.Tenant]int
	lanes   map[string]*lane
}

// lane is what is known of one webhook.
type lane struct {
	running int
	proven  bool // its last request succeeded
	failed  bool // its last request failed
}

// slot is the right to one request.
type slot struct {
	webhook string
	tenant  video.Tenant
	failing bool
}

func newSlots(most int) *slots {
	return &slots{most: most, tenants: map[video.Tenant]int{}, lanes: map[string]*lane{}}
}

// reserve returns a slot for the head of a lane, if there is one for it.
func (s *slots) reserve(l store.Lane) (slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.lanes[l.Webhook]
	if known == nil {
		known = &lane{}
	}
	mine := slot{webhook: l.Webhook, tenant: l.Tenant, failing: known.failed || l.Tries > 0 && !known.proven}
	limit := 1
	if known.proven {
		limit = maxPerLane
	}
	if known.running >= limit || s.tenants[l.Tenant] >= maxPerTenant || s.total >= s.most || mine.failing && s.failing >= s.most/2 {
		return slot{}, false
	}
	known.running++
	s.lanes[l.Webhook] = known
	s.tenants[l.Tenant]++
	s.total++
	if mine.failing {
		s.failing++
	}
	return mine, true
}

// release returns a slot without having learned anything.
func (s *slots) release(mine slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(mine)
}

// releaseWithOutcome returns a slot, and remembers whether the webhook answered well.
func (s *slots) releaseWithOutcome(mine slot, succeeded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lanes[mine.webhook]; l != nil {
		l.proven, l.failed = succeeded, !succeeded
	}
	s.releaseLocked(mine)
}

func (s *slots) releaseLocked(mine slot) {
	s.total--
	if mine.failing {
		s.failing--
	}
	if s.tenants[mine.tenant]--; s.tenants[mine.tenant] == 0 {
		delete(s.tenants, mine.tenant)
	}
	l := s.lanes[mine.webhook]
	l.running--
	if l.running == 0 && len(s.lanes) > maxRemembered {
		delete(s.lanes, mine.webhook)
	}
}
