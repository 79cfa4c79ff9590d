package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

// limiter limits how many requests per second each tenant may make, with all of its keys, and each client that
// has a token. Bursts may use the requests of two seconds.
type limiter struct {
	perSecond float64 // 0: no limit
	// cheapReads lets a read of one video count as a part of a request.
	cheapReads bool
	now        func() time.Time
	reads      *limit.Rates[limit.Principal]

	mu       sync.Mutex
	rejected map[[sha256.Size]byte]*rejection // by the hash of the key's secret
}

func newLimiter(perSecond float64, cheapReads bool, now func() time.Time) *limiter {
	l := &limiter{perSecond: perSecond, cheapReads: cheapReads, now: now}
	l.reads = limit.NewRates[limit.Principal](readsPerRequest*perSecond, readsPerRequest*l.burst(), now)
	return l
}

// rejection says that the tenant of a key was over its limit when the key was last looked up.
type rejection struct {
	by        limit.Principal
	refusedAt time.Time
	logged    time.Time
	since     atomic.Int64 // how many requests were refused since
}

// rejectionAge is how long the key of a tenant over its limit is not looked up again. A key that is revoked
// meanwhile is told so that much later.
const rejectionAge = time.Second

// rejectionLogAge is how often the log names a key whose tenant is over its limit.
const rejectionLogAge = time.Minute

// reject remembers that the tenant of the key with this secret is over its limit, and reports whether the log should say so.
func (l *limiter) reject(secret string, by limit.Principal) (log bool) {
	hash, now := sha256.Sum256([]byte(secret)), l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rejected == nil || len(l.rejected) >= maxRejected {
		l.rejected = map[[sha256.Size]byte]*rejection{}
	}
	r := &rejection{by: by, refusedAt: now}
	if before := l.rejected[hash]; before != nil {
		r.logged = before.logged
	}
	if log = now.Sub(r.logged) >= rejectionLogAge; log {
		r.logged = now
	}
	l.rejected[hash] = r
	return log
}

// rejection returns the recent rejection of the key with this secret, or nil.
func (l *limiter) rejection(secret string) *rejection {
	if l.perSecond <= 0 {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rejected[hash]; r != nil && l.now().Sub(r.refusedAt) < rejectionAge {
		return r
	}
	return nil
}

// quickRefusals is how many requests of a key are refused at once within rejectionAge.
const quickRefusals = 1000

// slowDown delays the refusals of a client that does not stop sending requests: refusing tens of thousands
// a second would keep a core busy.
func (r *rejection) slowDown(ctx context.Context) {
	if r.since.Add(1) <= quickRefusals {
		return
	}
	select {
	case <-time.After(rejectionAge):
	case <-ctx.Done():
	}
}

// maxRejected is how many rejections are remembered. Beyond that all are forgotten.
const maxRejected = 10_000

// readsPerRequest is how many reads of a video may be made instead of another request: they
// cost the server that much less than a list or a change.
const readsPerRequest = 20

// cost is what a request takes from the limit of its tenant, in reads. A report is no cheap one.
func (l *limiter) cost(r *http.Request) int {
	if l.cheapReads && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/video/") && !strings.HasSuffix(r.URL.Path, "/report") {
		return 1
	}
	return readsPerRequest
}

// The headers of the IETF draft httpapi-ratelimit-headers: what the limit is, and what is left of it.
const (
	headerPolicy = "RateLimit-Policy"
	headerLimit  = "RateLimit"
)

// allow returns an error if a principal has exceeded its limit with a request of this cost. If there is a
// limit, it says in h what is left: r requests now, and all of them again after t seconds.
func (l *limiter) allow(by limit.Principal, cost int, h http.Header) error {
	if l.perSecond <= 0 {
		return nil
	}
	allowed, left := l.reads.Allow(by, cost), l.reads.Left(by)
	requests, burst := left/readsPerRequest, float64(l.burst())
	h.Set(headerPolicy, fmt.Sprintf(`"default";q=%.0f;w=%.0f`, burst, math.Ceil(burst/l.perSecond)))
	h.Set(headerLimit, fmt.Sprintf(`"default";r=%.0f;t=%.0f`, math.Floor(requests), math.Ceil((burst-requests)/l.perSecond)))
	if allowed {
		return nil
	}
	wait := (float64(cost) - left) / (readsPerRequest * l.perSecond)
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited",
		Msg: "Your API keys make too many requests.", RetryAfter: time.Duration(max(1, math.Ceil(wait))) * time.Second}
}

// burst is how many requests may come at once.
func (l *limiter) burst() int { return max(1, int(2*l.perSecond)) }
