package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/cache"
)

// maxPrincipals is how many principals are remembered. The ones that were idle longest are
// forgotten first, which at worst gives each of them one more burst.
const maxPrincipals = 10_000

// Rates limits how often each principal may do something.
type Rates[K comparable] struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu    sync.Mutex
	known *cache.Cache[K, *rate.Limiter]
}

// NewRates returns a limit of so many tokens a second for each principal, and of burst at once.
func NewRates[K comparable](perSecond float64, burst int, now func() time.Time) *Rates[K] {
	return &Rates[K]{perSecond: rate.Limit(perSecond), burst: burst, now: now, known: cache.New[K, *rate.Limiter](maxPrincipals)}
}

// Allow takes n tokens of a principal. It takes none if fewer are left, and reports false.
func (r *Rates[K]) Allow(principal K, n int) bool {
	return r.limiter(principal).AllowN(r.now(), n)
}

// Reserve takes a token of a principal. It reports false if none is left. giveBack returns it, for what turned out not
// to count.
func (r *Rates[K]) Reserve(principal K) (giveBack func(), ok bool) {
	now := r.now()
	taken := r.limiter(principal).ReserveN(now, 1)
	giveBack = func() { taken.CancelAt(now) } // at its own time: a later one would be too late to cancel
	if !taken.OK() || taken.DelayFrom(now) > 0 {
		giveBack()
		return nil, false
	}
	return giveBack, true
}

// Left returns how many tokens a principal has left.
func (r *Rates[K]) Left(principal K) float64 {
	return max(r.limiter(principal).TokensAt(r.now()), 0)
}

func (r *Rates[K]) limiter(principal K) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.known.Get(principal)
	if !ok {
		l = rate.NewLimiter(r.perSecond, r.burst)
		r.known.Put(principal, l, 1)
	}
	return l
}
