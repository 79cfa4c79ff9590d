package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Key is an API key without its secret.
type Key struct {
	ID        string
	Name      string
	Tenant    video.Tenant
	Scopes    []string
	Hash      string // of the secret
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

const insertKey = `
		INSERT INTO api_key (id, name, tenant, scopes, hash, created_at, expires_at, revoked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// columns are what insertKey stores.
func (k Key) columns() []any {
	return []any{k.ID, k.Name, k.Tenant, strings.Join(k.Scopes, ","), k.Hash, millis(k.CreatedAt), millis(k.ExpiresAt), millis(k.RevokedAt)}
}

// InsertKey stores a key. A key with the same hash is an error.
func (t *Tx) InsertKey(ctx context.Context, k Key) error {
	_, err := t.affected(ctx, "insert key", insertKey, k.columns()...)
	return err
}

const selectKey = `SELECT id, name, tenant, scopes, hash, created_at, expires_at, revoked_at FROM api_key `

// KeyByHash finds the key whose secret has this hash.
func (q queries) KeyByHash(ctx context.Context, hash string) (Key, error) {
	keys, err := q.keys(ctx, selectKey+`WHERE hash = $1`, hash)
	if err != nil {
		return Key{}, err
	}
	if len(keys) == 0 {
		return Key{}, KeyNotFound()
	}
	return keys[0], nil
}

// KeyNotFound is the answer for a key that does not exist.
func KeyNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "key_not_found", Msg: "There is no such key."}
}

// Keys lists all keys, oldest first.
func (q queries) Keys(ctx context.Context) ([]Key, error) {
	return q.keys(ctx, selectKey+`ORDER BY created_at, id`)
}

func (q queries) keys(ctx context.Context, text string, args ...any) ([]Key, error) {
	return collect(ctx, q, "read keys", scanKey, text, args...)
}

func scanKey(row *sql.Rows) (Key, error) {
	var k Key
	var scopes string
	var created, expires, revoked sql.NullInt64
	err := row.Scan(&k.ID, &k.Name, &k.Tenant, &scopes, &k.Hash, &created, &expires, &revoked)
	if scopes != "" { // no scope, where Split would return an empty one
		k.Scopes = strings.Split(scopes, ",")
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = fromMillis(created), fromMillis(expires), fromMillis(revoked)
	return k, err
}

// RevokeKey makes a key invalid from the given time on. Revoking one twice
// keeps the first time.
func (t *Tx) RevokeKey(ctx context.Context, id string, at time.Time) error {
	n, err := t.affected(ctx, "revoke key",
		`UPDATE api_key SET revoked_at = COALESCE(revoked_at, $1) WHERE id = $2`, millis(at), id)
	if err == nil && n == 0 {
		return KeyNotFound()
	}
	return err
}

// AdoptKey makes k valid and every other key of its name invalid. A key with
// the same hash is taken as it is: one of that name is valid again when it was
// revoked, one of another name stays what somebody made of it.
func (t *Tx) AdoptKey(ctx context.Context, k Key) error {
	if _, err := t.affected(ctx, "revoke former keys",
		`UPDATE api_key SET revoked_at = $1 WHERE name = $2 AND hash <> $3 AND revoked_at IS NULL`, millis(k.CreatedAt), k.Name, k.Hash); err != nil {
		return err
	}
	_, err := t.affected(ctx, "adopt key", insertKey+`
		ON CONFLICT (hash) DO UPDATE SET revoked_at = NULL WHERE api_key.name = excluded.name`, k.columns()...)
	return err
}

// SigningKey is a key for upload and playback addresses.
type SigningKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
}

// InsertSigningKey stores a signing key.
func (t *Tx) InsertSigningKey(ctx context.Context, k SigningKey) error {
	_, err := t.affected(ctx, "insert signing key",
		`INSERT INTO signing_key (id, secret, created_at) VALUES ($1, $2, $3)`,
		k.ID, hex.EncodeToString(k.Secret), millis(k.CreatedAt))
	return err
}

// SigningKeys lists all signing keys, newest first.
func (q queries) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	return collect(ctx, q, "read signing keys", scanSigningKey,
		`SELECT id, secret, created_at FROM signing_key ORDER BY created_at DESC, id DESC`)
}

func scanSigningKey(row *sql.Rows) (SigningKey, error) {
	var k SigningKey
	var secret string
	var created sql.NullInt64
	if err := row.Scan(&k.ID, &secret, &created); err != nil {
		return k, err
	}
	k.CreatedAt = fromMillis(created)
	var err error
	if k.Secret, err = hex.DecodeString(secret); err != nil {
		return k, fmt.Errorf("signing key %s: %w", k.ID, err)
	}
	return k, nil
}

// RemoveSigningKey forgets a signing key; addresses signed with it die.
func (t *Tx) RemoveSigningKey(ctx context.Context, id string) error {
	_, err := t.affected(ctx, "remove signing key", `DELETE FROM signing_key WHERE id = $1`, id)
	return err
}
