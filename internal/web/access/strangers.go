package access

import (
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/limit"
)

const (
	// listedEach is how many requests without a key the log lists of one client in a minute, and listedAll of
	// all clients together.
	listedEach = 30
	listedAll  = 600
	// summaryInterval is how often the log tells what it did not list.
	summaryInterval = time.Minute
	// maxClients is how many clients are told apart in a summary.
	maxClients = 10_000
)

// strangers chooses which requests without a key the log lists. Strangers can send as many as they like, and
// would fill the disk. What is not listed is summed up, without the addresses.
type strangers struct {
	log  *slog.Logger
	each *limit.Rates[netip.Prefix]
	all  *rate.Limiter
	now  func() time.Time

	mu       sync.Mutex
	requests int // that were left out since the last summary
	clients  map[netip.Prefix]struct{}
	statuses map[string]int
}

func newStrangers(log *slog.Logger, now func() time.Time) *strangers {
	return &strangers{
		log: log, now: now,
		each: limit.NewRates[netip.Prefix](listedEach/60.0, listedEach, now),
		all:  rate.NewLimiter(listedAll/60.0, listedAll),
	}
}

// isOfStranger reports whether a request was made without a key or the URL of an upload. Until its key is
// known, a request of the API has the route that all of them share.
func isOfStranger(route string, status int) bool {
	switch {
	case strings.HasPrefix(route, "/api/"):
		return route == "/api/"
	case strings.HasPrefix(route, "/upload/"):
		return status >= 400
	}
	return true
}

// lists reports whether the log lists a request of a client. If not, it counts for the next summary.
func (s *strangers) lists(client netip.Prefix, status int) bool {
	if s.each.Allow(client, 1) && s.all.AllowN(s.now(), 1) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == 0 {
		s.clients, s.statuses = map[netip.Prefix]struct{}{}, map[string]int{}
		time.AfterFunc(summaryInterval, s.summarise)
	}
	s.requests++
	s.statuses[strconv.Itoa(status)]++
	if len(s.clients) < maxClients {
		s.clients[client] = struct{}{}
	}
	return false
}

func (s *strangers) summarise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Info("requests without a key that are not listed", "requests", s.requests, "addresses", len(s.clients), "statuses", s.statuses)
	s.requests = 0
}
