package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// MaxSignedLife is the longest life of a signed address, and so how long a signing key must be kept
// after its successor took over.
const MaxSignedLife = 31_536_000 * time.Second // a year

// SigningKeys sign addresses and verify them. They are a copy in memory: the database is the
// authority, because another process may rotate keys.
type SigningKeys struct {
	ring  *sign.Keyring
	store *store.Store
	now   func() time.Time

	mu     sync.Mutex
	loaded time.Time // when an unknown key id last caused a load
}

// LoadSigningKeys returns the signing keys in a database. It makes the first one if there is none.
func LoadSigningKeys(ctx context.Context, s *store.Store, now func() time.Time) (*SigningKeys, error) {
	k := &SigningKeys{ring: sign.NewKeyring(), store: s, now: now}
	err := s.InTx(ctx, func(tx *store.Tx) error {
		keys, err := tx.SigningKeys(ctx)
		if err != nil || len(keys) > 0 {
			return err
		}
		return tx.InsertSigningKey(ctx, k.newKey())
	})
	if err != nil {
		return nil, err
	}
	return k, k.Load(ctx)
}

// Load reads the keys again: another process may have rotated them.
func (k *SigningKeys) Load(ctx context.Context) error {
	rows, err := k.store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	keys := make([]sign.Key, len(rows))
	for i, r := range rows {
		keys[i] = sign.Key{ID: r.ID, Secret: r.Secret}
	}
	k.ring.Set(keys)
	return nil
}

// Sign returns a token for a subject, signed with the newest key.
func (k *SigningKeys) Sign(p sign.Purpose, subject string, expires time.Time) string {
	return k.ring.Sign(p, subject, expires)
}

// Verify checks the signed part of an address. The error of a bad one is a *video.Error: url_expired
// or url_invalid.
func (k *SigningKeys) Verify(ctx context.Context, p sign.Purpose, subject, token string) error {
	if id := sign.KeyID(token); id != "" && !k.ring.Has(id) && k.mayLoad() {
		if err := k.Load(ctx); err != nil {
			return err
		}
	}
	switch err := k.ring.Verify(p, subject, token, k.now()); {
	case errors.Is(err, sign.ErrExpired):
		return &video.Error{Kind: video.Forbidden, Code: "url_expired", Msg: "This address has expired; ask for a new one."}
	case errors.Is(err, sign.ErrInvalid):
		return &video.Error{Kind: video.Forbidden, Code: "url_invalid", Msg: "This address was not signed by this server, or was changed."}
	default:
		return err
	}
}

// mayLoad reports whether an unknown key id may cause a load. It does at most once a second, so that
// forged addresses cost no queries.
func (k *SigningKeys) mayLoad() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); now.Sub(k.loaded) >= time.Second {
		k.loaded = now
		return true
	}
	return false
}

func (k *SigningKeys) newKey() store.SigningKey {
	id, secret := make([]byte, 4), make([]byte, 32)
	rand.Read(id)
	rand.Read(secret)
	return store.SigningKey{ID: hex.EncodeToString(id), Secret: secret, CreatedAt: k.now().UTC()}
}

// Rotate makes a new key that signs from now on. Addresses signed with older keys stay valid; keys
// that no valid address can need are removed. A running server starts to sign with the new key
// within a minute, and accepts its signatures at once.
func (k *SigningKeys) Rotate(ctx context.Context) (id string, err error) {
	fresh := k.newKey()
	err = k.store.InTx(ctx, func(tx *store.Tx) error {
		keys, err := tx.SigningKeys(ctx) // newest first
		if err != nil {
			return err
		}
		for i, old := range keys {
			if i > 0 && k.now().Sub(keys[i-1].CreatedAt) > MaxSignedLife+time.Hour {
				if err := tx.RemoveSigningKey(ctx, old.ID); err != nil {
					return err
				}
			}
		}
		return tx.InsertSigningKey(ctx, fresh)
	})
	if err != nil {
		return "", err
	}
	return fresh.ID, k.Load(ctx)
}

// SigningKey is a signing key without its secret.
type SigningKey struct {
	ID        string
	CreatedAt time.Time
}

// List returns the signing keys, newest first.
func (k *SigningKeys) List(ctx context.Context) ([]SigningKey, error) {
	rows, err := k.store.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]SigningKey, len(rows))
	for i, r := range rows {
		all[i] = SigningKey{ID: r.ID, CreatedAt: r.CreatedAt}
	}
	return all, nil
}
