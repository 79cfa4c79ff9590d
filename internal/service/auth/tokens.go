package auth

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// Tokens are the credentials for the state of one video each. They are made to be passed on to a
// browser, which must not get an API key. The signing keys sign them, so revoking a signing key ends
// its tokens, and nothing is stored.
type Tokens struct {
	keys   *SigningKeys
	videos *store.Store
}

// NewTokens returns the tokens for the videos in a database.
func NewTokens(keys *SigningKeys, videos *store.Store) *Tokens { return &Tokens{keys, videos} }

// Create makes a token that is valid for ttl, or shorter if the operator set a shorter life of signed
// addresses.
func (t *Tokens) Create(ctx context.Context, by Actor, id video.ID, ttl time.Duration) (token string, expires time.Time, err error) {
	if _, err := VisibleVideo(ctx, t.videos, by, Read, id); err != nil {
		return "", time.Time{}, err
	}
	expires = t.keys.Expiry(ttl).Truncate(time.Millisecond) // as precise as the token says it
	return t.keys.Sign(sign.State, string(id), expires), expires, nil
}

// Authenticate returns who holds a token: one who may read the state of this video. A token that is
// expired, forged or of another video is invalid_token.
func (t *Tokens) Authenticate(ctx context.Context, id video.ID, token string) (Actor, error) {
	err := t.keys.Verify(ctx, sign.State, string(id), token)
	if video.KindOf(err) == video.Forbidden {
		return Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "invalid_token", Msg: "This token has expired, or is not one for this video."}
	}
	if err != nil {
		return Actor{}, err
	}
	return Actor{KeyID: "token of " + string(id), Video: id, Scopes: []Scope{Read}}, nil
}
