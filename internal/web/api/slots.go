package api

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

// slotTimeout is how long a request waits for a slot.
const slotTimeout = 5 * time.Second

// slots limits how many requests of one kind run at the same time: in the process, and for each
// key, so that no client takes the slots of the others.
type slots struct {
	byKey            *limit.Shares[string]
	keyFull, allFull string // what a request is told that got no slot
}

func newSlots(n, perKey int64, keyFull, allFull string) *slots {
	return &slots{byKey: limit.NewShares[string](perKey, semaphore.NewWeighted(n)), keyFull: keyFull, allFull: allFull}
}

// acquire waits for a slot. The caller must release it.
func (s *slots) acquire(ctx context.Context, key string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	release, err = s.byKey.Acquire(ctx, key, 1)
	switch {
	case errors.Is(err, limit.ErrShare):
		return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited", Msg: s.keyFull, RetryAfter: slotTimeout}
	case err != nil:
		return nil, &video.Error{Kind: video.Unavailable, Code: "overloaded", Msg: s.allFull, RetryAfter: slotTimeout}
	}
	return release, nil
}
