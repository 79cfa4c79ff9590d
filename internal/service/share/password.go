package share

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// Passwords are kept as argon2id, with the parameters that OWASP recommends.
const (
	memory  = 19 << 10 // KiB
	passes  = 2
	threads = 1
	saltLen = 16
	hashLen = 32
)

const (
	// clientTries is how many wrong passwords a client may send in a minute.
	clientTries = 10
	// shareTries is how many wrong ones a share takes from everybody in a minute. A guesser may have many addresses.
	shareTries = 100
	// CookieLife is how long a browser remembers, without opening the page again, that the password was right.
	CookieLife = 12 * time.Hour
)

// guard checks passwords. A check takes 19 MiB and a core for some 30 ms, so few run at a time, and one of each client.
type guard struct {
	clients *limit.Rates[netip.Prefix]
	shares  *limit.Rates[ID]
	places  *limit.Shares[netip.Prefix]
}

func newGuard(now func() time.Time) *guard {
	return &guard{
		clients: limit.NewRates[netip.Prefix](clientTries/60.0, clientTries, now),
		shares:  limit.NewRates[ID](shareTries/60.0, shareTries, now),
		places:  limit.NewShares[netip.Prefix](1, semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))),
	}
}

// key computes the hash of a password in a place of a client.
func (g *guard) key(ctx context.Context, client netip.Prefix, password string, salt []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit.Patience)
	defer cancel()
	release, err := g.places.Acquire(ctx, client, 1)
	if err != nil {
		return nil, &video.Error{Kind: video.Unavailable, Code: "overloaded", Msg: "The server is busy. Try again later.", RetryAfter: limit.Patience, Err: err}
	}
	defer release()
	return argon2.IDKey([]byte(password), salt, passes, memory, threads, hashLen), nil
}

// hash returns what is kept of a password: the usual text of parameters, salt and hash.
func (g *guard) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // it never fails
	key, err := g.key(ctx, netip.Prefix{}, password, salt)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("%sm=%d,t=%d,p=%d$%s$%s", prefix, memory, passes, threads, b64(salt), b64(key)), err
}

const prefix = "$argon2id$v=19$"

var errHash = errors.New("the hash of a password is damaged")

// matches reports whether a password has this hash. Parameters that are not ours would be somebody's who can write to
// the database, and could take all memory.
func (g *guard) matches(ctx context.Context, client netip.Prefix, password, hash string) (bool, error) {
	own := fmt.Sprintf("%sm=%d,t=%d,p=%d$", prefix, memory, passes, threads)
	rest, ok := strings.CutPrefix(hash, own)
	saltText, keyText, found := strings.Cut(rest, "$")
	if !ok || !found {
		return false, errHash
	}
	salt, err := base64.RawStdEncoding.DecodeString(saltText)
	if err != nil {
		return false, errHash
	}
	want, err := base64.RawStdEncoding.DecodeString(keyText)
	if err != nil || len(want) != hashLen {
		return false, errHash
	}
	got, err := g.key(ctx, client, password, salt)
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1, err
}

// Unlock checks a password that a client sends, and returns the cookie for it. Only wrong ones count.
func (s *Service) Unlock(ctx context.Context, sh Share, client netip.Prefix, password string) (cookie string, err error) {
	giveBack, ok := s.guard.clients.Reserve(client)
	if !ok {
		return "", tooManyTries(time.Minute / clientTries)
	}
	giveBackToo, ok := s.guard.shares.Reserve(sh.ID)
	if !ok {
		giveBack()
		return "", tooManyTries(time.Minute / shareTries)
	}
	right, err := s.guard.matches(ctx, client, password, sh.password)
	if right || err != nil {
		giveBack()
		giveBackToo()
	}
	if err != nil {
		return "", err
	}
	if !right {
		return "", &video.Error{Kind: video.Forbidden, Code: "wrong_password", Msg: "This is not the password of this link."}
	}
	return s.Cookie(sh), nil
}

func tooManyTries(after time.Duration) error {
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited", Msg: "Too many wrong passwords. Wait a moment.", RetryAfter: after}
}

// Cookie returns the proof that somebody knew the password of a share.
func (s *Service) Cookie(sh Share) string {
	return s.keys.Sign(sign.Share, cookieSubject(sh), s.now().Add(CookieLife))
}

// Unlocked reports whether a cookie opens a share. One without a password is open.
func (s *Service) Unlocked(ctx context.Context, sh Share, cookie string) bool {
	return !sh.HasPassword() || s.keys.Verify(ctx, sign.Share, cookieSubject(sh), cookie) == nil
}

// cookieSubject names the share and its password: another password ends the cookies of the one before.
func cookieSubject(sh Share) string {
	sum := sha256.Sum256([]byte(sh.password))
	return string(sh.ID) + "/" + hex.EncodeToString(sum[:8])
}
