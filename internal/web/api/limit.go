package api

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/video"
)

// limiter limits how many requests per second each key may make. Bursts may use the
// requests of two seconds.
type limiter struct {
	perSecond float64 // 0: no limit
	now       func() time.Time

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

// maxLimiters is how many keys are tracked. Beyond that all are forgotten, which at worst
// gives each key one more burst.
const maxLimiters = 10_000

// allow returns an error if the key has exceeded its limit.
func (l *limiter) allow(key string) error {
	if l.perSecond <= 0 {
		return nil
	}
	now := l.now()
	r := l.limiterOf(key).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now) // a rejected request does not count
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited",
		Msg: "This API key makes too many requests.", RetryAfter: time.Duration(math.Ceil(wait.Seconds())) * time.Second}
}

func (l *limiter) limiterOf(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.keys[key]; ok {
		return k
	}
	if l.keys == nil || len(l.keys) >= maxLimiters {
		l.keys = map[string]*rate.Limiter{}
	}
	k := rate.NewLimiter(rate.Limit(l.perSecond), max(1, int(2*l.perSecond)))
	l.keys[key] = k
	return k
}
