package pages

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/video"
)

const (
	// perSecond is how many pages a client address may ask for in a second, in the long run. People
	// of one company often share an address, and each page that waits asks for its state.
	perSecond = 30
	burst     = 200
	// maxClients is how many addresses are tracked. Beyond that all are forgotten, which at worst
	// gives each one more burst.
	maxClients = 10_000
)

// limiter limits the requests of each client address. Pages need no key.
type limiter struct {
	off bool
	now func() time.Time

	mu      sync.Mutex
	clients map[netip.Prefix]*rate.Limiter
}

func newLimiter(off bool) *limiter { return &limiter{off: off, now: time.Now} }

func (l *limiter) allow(client netip.Prefix) error {
	if l.off || l.clientOf(client).AllowN(l.now(), 1) {
		return nil
	}
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited", Msg: "Too many requests come from your address. Wait a moment.", RetryAfter: time.Second}
}

func (l *limiter) clientOf(client netip.Prefix) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.clients[client]; ok {
		return c
	}
	if l.clients == nil || len(l.clients) >= maxClients {
		l.clients = map[netip.Prefix]*rate.Limiter{}
	}
	c := rate.NewLimiter(perSecond, burst)
	l.clients[client] = c
	return c
}

// limited answers for the limit and for errors of a handler, as a page.
func (p *pages) limited(next func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := p.limit.allow(p.Client(r))
		if err == nil {
			err = next(w, r)
		}
		if err != nil {
			p.refuse(w, r, err)
		}
	}
}
