package api

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// keyCheckInterval is how often the keys of open streams are checked, and so how long a stream
// may continue after its key was revoked or has expired.
const keyCheckInterval = 3 * time.Second

// validKeys reports which of the API keys with these IDs are valid.
type validKeys func(ctx context.Context, ids []string) (map[string]bool, error)

// checkKeys ends the streams whose keys or tokens are no longer valid, with one query for all keys. It
// does nothing if the last check was just before. A failed check is made up for by the next poll.
func (s *subscribers) checkKeys(ctx context.Context, byVideo map[video.ID][]*subscriber) {
	if time.Since(s.checked) < keyCheckInterval {
		return
	}
	byKey := map[string][]*subscriber{}
	for _, subs := range byVideo {
		for _, sub := range subs {
			if sub.token == "" {
				byKey[sub.key] = append(byKey[sub.key], sub)
			} else if _, err := s.tokens.Authenticate(ctx, sub.id, sub.token); video.KindOf(err) == video.Unauthenticated {
				sub.revoke()
			}
		}
	}
	if len(byKey) == 0 {
		s.checked = time.Now()
		return
	}
	ids := make([]string, 0, len(byKey))
	for id := range byKey {
		ids = append(ids, id)
	}
	valid, err := s.valid(ctx, ids)
	if err != nil {
		s.log.DebugContext(ctx, "could not check the API keys of event streams", "keys", len(ids), "err", err)
		return
	}
	s.checked = time.Now()
	for id, subs := range byKey {
		if valid[id] {
			continue
		}
		for _, sub := range subs {
			sub.revoke()
		}
	}
}

// revoke ends the stream. Only one poll at a time calls it.
func (s *subscriber) revoke() {
	select {
	case <-s.revoked:
	default:
		close(s.revoked)
	}
}
