package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// LinkLife is how long the link of a first start works.
	LinkLife = 10 * time.Minute
	// maxGuesses is how many wrong links are tried before the right one stops working.
	maxGuesses = 5
)

// link opens the console once, with the key that the first start made. It is in the memory of the process that printed it.
type link struct {
	mu      sync.Mutex
	secret  string // "": no link, or not any more
	key     string // ID
	expires time.Time
	guesses int
}

// NewLink returns the secret of a link that signs in once, as the holder of a key. The one before stops working.
func (s *Service) NewLink(keyID string) string {
	l := &s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secret, l.key, l.expires, l.guesses = rand.Text(), keyID, s.now().Add(LinkLife), 0
	return l.secret
}

// UseLink signs in with the secret of a link, and returns the secret of the session.
func (s *Service) UseLink(ctx context.Context, secret string, from From) (string, error) {
	key, ok := s.link.take(secret, s.now())
	if !ok {
		return "", &video.Error{Kind: video.Forbidden, Code: "link_used",
			Msg: "This link works once, for ten minutes after the first start. Enter the API key that was printed with it instead."}
	}
	return s.open(ctx, Session{KeyID: key}, from, secret)
}

// take uses the link up, and returns the key that it stands for.
func (l *link) take(secret string, now time.Time) (key string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secret == "" {
		return "", false
	}
	ok = subtle.ConstantTimeCompare([]byte(l.secret), []byte(secret)) == 1
	if !ok {
		l.guesses++
	}
	if ok = ok && now.Before(l.expires); ok || l.guesses >= maxGuesses || !now.Before(l.expires) {
		l.secret = ""
	}
	return l.key, ok
}
