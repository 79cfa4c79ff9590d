package api

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/video"
)

// limiter bounds how many requests a second each key may make. A key may save up
// the requests of two seconds for a burst.
type limiter struct {
	perSecond float64 // 0: no limit
	now       func() time.Time

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

// maxLimited is how many keys are remembered. Beyond it the memory is cleared,
// which at worst gives each key one more burst.
const maxLimited = 10_000

// allow returns an error when the key has used up its requests.
func (l *limiter) allow(key string) error {
	if l.perSecond <= 0 {
		return nil
	}
	now := l.now()
	r := l.of(key).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now) // a refused request uses up nothing
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited",
		Msg: "This API key makes too many requests.", RetryAfter: time.Duration(math.Ceil(wait.Seconds())) * time.Second}
}

func (l *limiter) of(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.keys[key]; ok {
		return k
	}
	if l.keys == nil || len(l.keys) >= maxLimited {
		l.keys = map[string]*rate.Limiter{}
	}
	k := rate.NewLimiter(rate.Limit(l.perSecond), max(1, int(2*l.perSecond)))
	l.keys[key] = k
	return k
}
