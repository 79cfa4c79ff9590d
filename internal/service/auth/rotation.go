package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func (k *SigningKeys) newKey() signingRow {
	id, secret := make([]byte, 4), make([]byte, 32)
	rand.Read(id)
	rand.Read(secret)
	return signingRow{ID: hex.EncodeToString(id), Secret: secret, CreatedAt: k.now().UTC()}
}

// Rotate makes a new key that signs from now on. Addresses signed with older keys stay valid; keys
// that no valid address can need are removed. A running server starts to sign with the new key
// within FollowEvery, and accepts its signatures at once.
func (k *SigningKeys) Rotate(ctx context.Context) (id string, err error) {
	fresh := k.newKey()
	err = k.store.InTx(ctx, func(tx *store.Tx) error {
		keys, err := allSigningKeys(ctx, tx.Queries) // newest first
		if err != nil {
			return err
		}
		for i, old := range keys {
			if i > 0 && k.now().Sub(keys[i-1].CreatedAt) > k.keepFor() {
				if err := removeSigningKey(ctx, tx, old.ID); err != nil {
					return err
				}
			}
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionSigningKeyRotate, Tenant: video.DefaultTenant, Target: fresh.ID}); err != nil {
			return err
		}
		return insertSigningKey(ctx, tx, fresh)
	})
	if err != nil {
		return "", err
	}
	return fresh.ID, k.Load(ctx)
}

// maxUploadLife is the longest life of an upload address that the settings allow.
const maxUploadLife = 7 * 24 * time.Hour

// keepFor returns how long a key is kept after its successor took over. Processes take up a new key
// a little later than it is made.
func (k *SigningKeys) keepFor() time.Duration { return max(k.maxLife, maxUploadLife) + time.Hour }

// Revoke removes a key: all addresses that it signed die. If the key is the newest, a new one is made
// first, so that there always is a key; made is its id, or "". Running servers follow within
// FollowEvery.
func (k *SigningKeys) Revoke(ctx context.Context, id string) (made string, err error) {
	err = k.store.InTx(ctx, func(tx *store.Tx) error {
		made = ""                                    // the transaction may be repeated
		keys, err := allSigningKeys(ctx, tx.Queries) // newest first
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(key signingRow) bool { return key.ID == id })
		if i < 0 {
			return SigningKeyNotFound()
		}
		if i == 0 {
			fresh := k.newKey()
			if err := insertSigningKey(ctx, tx, fresh); err != nil {
				return err
			}
			made = fresh.ID
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionSigningKeyRevoke, Tenant: video.DefaultTenant, Target: id}); err != nil {
			return err
		}
		return removeSigningKey(ctx, tx, id)
	})
	if err != nil {
		return "", err
	}
	return made, k.Load(ctx)
}

// SigningKeyNotFound is the error for a signing key that does not exist.
func SigningKeyNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "signing_key_not_found", Msg: "There is no signing key with this ID; spool signing-keys list shows all of them."}
}

// SigningKey is a signing key without its secret.
type SigningKey struct {
	ID        string
	CreatedAt time.Time
}

// List returns the signing keys, newest first.
func (k *SigningKeys) List(ctx context.Context) ([]SigningKey, error) {
	rows, err := allSigningKeys(ctx, k.store.Queries)
	if err != nil {
		return nil, err
	}
	all := make([]SigningKey, len(rows))
	for i, r := range rows {
		all[i] = SigningKey{ID: r.ID, CreatedAt: r.CreatedAt}
	}
	return all, nil
}
