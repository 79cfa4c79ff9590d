package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth/sign"
)

// MaxSignedLife is the longest life of a signed address, and so how long a
// signing key must be kept after its successor took over.
const MaxSignedLife = 31_536_000 * time.Second // a year

// keyring is the set of signing keys in memory. The database holds the truth,
// because another process may rotate keys: an unknown key id makes it look
// again, at most once a second so that forged addresses cost no queries.
type keyring struct {
	*sign.Keyring
	store *store.Store
	now   func() time.Time

	mu     sync.Mutex
	loaded time.Time
}

func (k *keyring) load(ctx context.Context) error {
	rows, err := k.store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	keys := make([]sign.Key, len(rows))
	for i, r := range rows {
		keys[i] = sign.Key{ID: r.ID, Secret: r.Secret}
	}
	k.Set(keys)
	return nil
}

// verify is Keyring.Verify, after a look for new keys where that may help.
func (k *keyring) verify(ctx context.Context, p sign.Purpose, subject, token string) error {
	if id := sign.KeyID(token); id != "" && !k.Has(id) && k.mayLoad() {
		if err := k.load(ctx); err != nil {
			return err
		}
	}
	return k.Verify(p, subject, token, k.now())
}

func (k *keyring) mayLoad() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); now.Sub(k.loaded) >= time.Second {
		k.loaded = now
		return true
	}
	return false
}

func (a *App) prepareSigning(ctx context.Context) error {
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		keys, err := tx.SigningKeys(ctx)
		if err != nil || len(keys) > 0 {
			return err
		}
		return tx.InsertSigningKey(ctx, a.newSigningKey())
	})
	if err != nil {
		return err
	}
	return a.ring.load(ctx)
}

func (a *App) newSigningKey() store.SigningKey {
	id, secret := make([]byte, 4), make([]byte, 32)
	rand.Read(id)
	rand.Read(secret)
	return store.SigningKey{ID: hex.EncodeToString(id), Secret: secret, CreatedAt: a.now().UTC()}
}

// RotateSigningKey makes a new key that signs from now on. Addresses signed
// with older keys go on working; keys that no live address can need are removed.
// A running server takes the new key up within a minute, and accepts its
// signatures at once.
func (a *App) RotateSigningKey(ctx context.Context) (id string, err error) {
	k := a.newSigningKey()
	err = a.store.InTx(ctx, func(tx *store.Tx) error {
		keys, err := tx.SigningKeys(ctx) // newest first
		if err != nil {
			return err
		}
		for i, old := range keys {
			if i > 0 && a.now().Sub(keys[i-1].CreatedAt) > MaxSignedLife+time.Hour {
				if err := tx.RemoveSigningKey(ctx, old.ID); err != nil {
					return err
				}
			}
		}
		return tx.InsertSigningKey(ctx, k)
	})
	if err != nil {
		return "", err
	}
	return k.ID, a.ring.load(ctx)
}

// SigningKey is a signing key without its secret.
type SigningKey struct {
	ID        string
	CreatedAt time.Time
}

// SigningKeys lists the signing keys, newest first.
func (a *App) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	rows, err := a.store.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]SigningKey, len(rows))
	for i, r := range rows {
		all[i] = SigningKey{ID: r.ID, CreatedAt: r.CreatedAt}
	}
	return all, nil
}
