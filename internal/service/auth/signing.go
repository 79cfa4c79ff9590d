package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// MaxSignedLife is the longest life of a signed playback address that anybody may ask for. An
// operator may set a shorter one.
const MaxSignedLife = 31_536_000 * time.Second // a year

// SigningKeys sign addresses and verify them. They are a copy in memory: the database is the
// authority, because another process may rotate keys.
type SigningKeys struct {
	ring    *sign.Keyring
	store   *store.Store
	now     func() time.Time
	maxLife time.Duration // of a playback address

	begun atomic.Int64 // loads so far

	mu  sync.Mutex
	set int64 // the load, by number, whose keys are in the ring

	// unknown loads the keys for requests whose key id is unknown. They share one load, and within
	// loadPause the result of the last one, so that forged addresses cost hardly any queries.
	unknown *cache.Recent[struct{}]
}

// LoadSigningKeys returns the signing keys in a database. It makes the first one if the database has no key.
// Playback addresses live no longer than maxLife; 0 stands for MaxSignedLife.
func LoadSigningKeys(ctx context.Context, s *store.Store, now func() time.Time, maxLife time.Duration) (*SigningKeys, error) {
	k := &SigningKeys{ring: sign.NewKeyring(), store: s, now: now, maxLife: cmp.Or(maxLife, MaxSignedLife)}
	k.unknown = cache.NewRecent(func(ctx context.Context) (struct{}, error) { return struct{}{}, k.Load(ctx) }, loadTimeout,
		func(took time.Duration, _ error) time.Duration { return loadPause - took })
	err := s.InTx(ctx, func(tx *store.Tx) error {
		keys, err := allSigningKeys(ctx, tx.Queries)
		if err != nil || len(keys) > 0 {
			return err
		}
		return insertSigningKey(ctx, tx, k.newKey())
	})
	if err != nil {
		return nil, err
	}
	return k, k.Load(ctx)
}

// Load reads the keys again: another process may have rotated or revoked them.
func (k *SigningKeys) Load(ctx context.Context) error {
	n := k.begun.Add(1)
	rows, err := allSigningKeys(ctx, k.store.Queries)
	if err != nil {
		return err
	}
	k.use(n, rows)
	return nil
}

// use signs and verifies with the keys that load number n has read, unless a load that began later is done
// already: a revoked key must not come back.
func (k *SigningKeys) use(n int64, rows []signingRow) {
	keys := make([]sign.Key, len(rows))
	for i, r := range rows {
		keys[i] = sign.Key{ID: r.ID, Secret: r.Secret}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n > k.set {
		k.ring.Set(keys)
		k.set = n
	}
}

// FollowEvery is how often a server reads the keys: a revoked key is accepted no longer than that.
const FollowEvery = 5 * time.Second

// Follow loads the keys every FollowEvery until ctx ends.
func (k *SigningKeys) Follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(FollowEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := panics.Catch(func() error { return k.loadInTime(ctx) })
		if err != nil && !failing && ctx.Err() == nil { // not again every few seconds
			log.WarnContext(ctx, "could not load the signing keys; a revoked one may still be accepted", "err", err)
		}
		failing = err != nil
	}
}

func (k *SigningKeys) loadInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return k.Load(ctx)
}

// Expiry returns when a playback address expires for which a client asked for the life ttl.
func (k *SigningKeys) Expiry(ttl time.Duration) time.Time {
	return k.now().Add(min(ttl, k.maxLife))
}

// Sign returns a token for a subject, signed with the newest key.
func (k *SigningKeys) Sign(p sign.Purpose, subject string, expires time.Time) string {
	return k.ring.Sign(p, subject, expires)
}

// Verify checks the signed part of an address. The error of a bad one is a *video.Error: url_expired
// or url_invalid.
func (k *SigningKeys) Verify(ctx context.Context, p sign.Purpose, subject, token string) error {
	if id := sign.KeyID(token); id != "" && !k.ring.Has(id) {
		if _, err := k.unknown.Get(ctx); err != nil {
			return err // the key may be forged or new
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
	// loadTimeout is how long a load may take, and so how long requests wait for it.
	loadTimeout = 5 * time.Second
)
