// Package sign makes and checks the signatures in Spool's own upload and
// playback addresses: HMAC-SHA256 with a key id and an expiry, so that keys can
// be changed while addresses signed with older ones go on working.
package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Purpose keeps signatures of one use from being taken for another's.
type Purpose string

const (
	Upload   Purpose = "upload"
	Resume   Purpose = "resume"   // an upload in pieces
	Playback Purpose = "playback" // of one file
	Stream   Purpose = "stream"   // of all files that a video is streamed with
)

var (
	// ErrInvalid means that the token was not made by any of our keys for this
	// purpose and subject.
	ErrInvalid = errors.New("signature is not valid")
	// ErrExpired means that the token was ours, and its time is over.
	ErrExpired = errors.New("signature has expired")
)

// Key is a secret with a short public name.
type Key struct {
	ID     string // letters and digits only
	Secret []byte
}

// Keyring signs with its newest key and accepts the signatures of all. It may
// be used from many goroutines at once. An empty ring accepts nothing, and
// signing with it is a programming error.
type Keyring struct{ keys atomic.Pointer[[]Key] }

// NewKeyring returns a ring of keys, newest first.
func NewKeyring(keys ...Key) *Keyring {
	r := new(Keyring)
	r.Set(keys)
	return r
}

// Set replaces the keys, newest first.
func (r *Keyring) Set(keys []Key) {
	keys = slices.Clone(keys)
	r.keys.Store(&keys)
}

// Has reports whether the ring holds the key called id.
func (r *Keyring) Has(id string) bool {
	return slices.ContainsFunc(*r.keys.Load(), func(k Key) bool { return k.ID == id })
}

// Sign returns a token for subject that is valid until expires, to the
// millisecond: rounded to seconds, an address for one second might be dead when
// it arrives. The token is one path element: "{expiry}.{key id}.{signature}".
func (r *Keyring) Sign(p Purpose, subject string, expires time.Time) string {
	k := (*r.keys.Load())[0]
	exp := strconv.FormatInt(expires.UnixMilli(), 10)
	return exp + "." + k.ID + "." + signature(k, p, exp, subject)
}

// Verify checks a token that Sign made for the same purpose and subject.
func (r *Keyring) Verify(p Purpose, subject, token string, now time.Time) error {
	exp, id, sig, ok := split(token)
	if !ok {
		return ErrInvalid
	}
	keys := *r.keys.Load()
	i := slices.IndexFunc(keys, func(k Key) bool { return k.ID == id })
	if i < 0 {
		return ErrInvalid
	}
	if !hmac.Equal([]byte(sig), []byte(signature(keys[i], p, exp, subject))) {
		return ErrInvalid
	}
	// Only now, when the number is known to be ours, is it worth reading.
	ms, err := strconv.ParseInt(exp, 10, 64)
	if err != nil {
		return ErrInvalid
	}
	if !now.Before(time.UnixMilli(ms)) {
		return ErrExpired
	}
	return nil
}

// Expiry returns when a token that was verified ends.
func Expiry(token string) time.Time {
	exp, _, _, _ := split(token)
	ms, err := strconv.ParseInt(exp, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// KeyID returns the id of the key that token claims to be signed with.
func KeyID(token string) string {
	_, id, _, _ := split(token)
	return id
}

func split(token string) (exp, id, sig string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// signature covers every part with its length fixed by a separator that cannot
// occur in the parts before it.
func signature(k Key, p Purpose, exp, subject string) string {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(string(p) + "\n" + exp + "\n" + k.ID + "\n" + subject))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
