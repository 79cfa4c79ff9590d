// Package sign creates and verifies the tokens in Spool's upload and playback URLs, and
// those with which a page follows a video:
//
//	{expiry}.{key id}.{signature}
//
// The signature is an HMAC-SHA256 over purpose, expiry, key ID and subject. For a
// single file, the subject is "{video}/{file}"; for HLS and DASH, whose players
// derive the URLs of segments themselves, it is the video alone, with a purpose of
// its own. The key ID lets keys be rotated while URLs signed with older keys stay
// valid.
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

// Purpose is part of what is signed, so that a token for one use is not valid for
// another.
type Purpose string

const (
	Upload   Purpose = "upload"
	Resume   Purpose = "resume"   // a resumable upload
	Playback Purpose = "playback" // of one file
	Original Purpose = "original" // of the file that was uploaded
	Stream   Purpose = "stream"   // of all HLS and DASH files of a video
	Sprites  Purpose = "sprites"  // of the storyboard of a video and the pictures that it names
	State    Purpose = "state"    // reading and following the state of a video
	Embed    Purpose = "embed"    // of the page with the player of a video
	Share    Purpose = "share"    // a cookie of somebody who knew the password of a share
	Page     Purpose = "page"     // of all files of a video, for a page of this server that plays it
	SignIn   Purpose = "signin"   // a cookie of somebody who is at the provider to sign in
	Preview  Purpose = "preview"  // of the HLS and DASH files of a part of a video
)

var (
	// ErrInvalid means that none of the keys signed the token for this purpose and
	// subject.
	ErrInvalid = errors.New("signature is not valid")
	// ErrExpired means that the signature is valid, but the token has expired.
	ErrExpired = errors.New("signature has expired")
)

// Key is a secret with a short public ID.
type Key struct {
	ID     string // letters and digits only
	Secret []byte
}

// Keyring signs with its newest key and accepts signatures of all its keys. It is
// safe for concurrent use. An empty ring accepts nothing; signing with it is a
// programming error.
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

// Has reports whether the ring contains the key with this ID.
func (r *Keyring) Has(id string) bool {
	return slices.ContainsFunc(*r.keys.Load(), func(k Key) bool { return k.ID == id })
}

// Sign returns a token for subject that is valid until expires. The token is one
// path element. The expiry has milliseconds: rounded to seconds, a URL for one
// second could have expired on arrival.
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
	if i < 0 || !hmac.Equal([]byte(sig), []byte(signature(keys[i], p, exp, subject))) {
		return ErrInvalid
	}
	// The expiry is parsed only after the signature was verified.
	expires, err := strconv.ParseInt(exp, 10, 64)
	if err != nil {
		return ErrInvalid
	}
	if !now.Before(time.UnixMilli(expires)) {
		return ErrExpired
	}
	return nil
}

// Expiry returns when a verified token expires.
func Expiry(token string) time.Time {
	exp, _, _, _ := split(token)
	ms, err := strconv.ParseInt(exp, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// KeyID returns the ID of the key that token claims to be signed with.
func KeyID(token string) string {
	_, id, _, _ := split(token)
	return id
}

func split(token string) (exp, id, sig string, ok bool) {
	exp, rest, ok := strings.Cut(token, ".")
	id, sig, found := strings.Cut(rest, ".")
	if !ok || !found || strings.Contains(sig, ".") {
		return "", "", "", false
	}
	return exp, id, sig, true
}

// signature joins the parts with newlines. Verify accepts only a number as expiry,
// so a subject that contains newlines cannot shift the parts.
func signature(k Key, p Purpose, exp, subject string) string {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(string(p) + "\n" + exp + "\n" + k.ID + "\n" + subject))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
