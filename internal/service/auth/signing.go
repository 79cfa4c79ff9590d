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

// SigningStore is the database as far as signing keys need it.
type SigningStore interface {
	InTx(ctx context.Context, f func(*store.Tx) error) error
	SigningKeys(ctx context.Context) ([]store.SigningKey, error) // newest first
}

// SigningKeys sign addresses and verify them. They are a copy in memory: the database is the
// authority, because another process may rotate keys.
type SigningKeys struct {
	ring  *sign.Keyring
	store SigningStore
	now   func() time.Time

	mu   sync.Mutex
	last *keyLoad // the last one that an unknown key id caused
}

// LoadSigningKeys returns the signing keys in a database. It makes the first one if there is none.
func LoadSigningKeys(ctx context.Context, s SigningStore, now func() time.Time) (*SigningKeys, error) {
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
	if id := sign.KeyID(token); id != "" && !k.ring.Has(id) {
		if err := k.loadUnknown(ctx); err != nil {
			return err // nobody knows whether the key is forged or new
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

const (
	// loadPause is the shortest time between two loads for unknown key ids.
	loadPause = time.Second
	// loadTimeout is how long requests wait for such a load.
	loadTimeout = 5 * time.Second
)

// keyLoad is a load of the keys, shared by the requests that need it.
type keyLoad struct {
	begun time.Time
	done  chan struct{} // closed when err is set
	err   error
}

// loadUnknown loads the keys for a request whose key id is unknown. Requests share one load, and
// within loadPause the result of the last one, so that forged addresses cost hardly any queries. All
// of them get its error.
func (k *SigningKeys) loadUnknown(ctx context.Context) error {
	load, first := k.shareLoad()
	if first {
		// Others wait for this load, so it goes on when the client of this request leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		load.err = errLoadBroken
		defer close(load.done)
		load.err = k.Load(ctx)
		return load.err
	}
	select {
	case <-load.done:
		return load.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errLoadBroken is what other requests get of a load that panicked.
var errLoadBroken = errors.New("load the signing keys: the request that loaded them failed")

// shareLoad returns the load whose result counts now. With first, the caller has to do it.
func (k *SigningKeys) shareLoad() (load *keyLoad, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now() // not the clock of the database, which may be set back
	if k.last != nil && (!k.last.isDone() || now.Sub(k.last.begun) < loadPause) {
		return k.last, false
	}
	k.last = &keyLoad{begun: now, done: make(chan struct{})}
	return k.last, true
}

func (l *keyLoad) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
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
