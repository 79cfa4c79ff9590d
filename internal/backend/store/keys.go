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

// APIKeys is the part of the store that authentication needs. Each method is a
// transaction of its own.
type APIKeys struct{ s *Store }

// APIKeys returns the API keys of this store.
func (s *Store) APIKeys() APIKeys { return APIKeys{s} }

// Insert stores a key. A key with the same hash is an error.
func (a APIKeys) Insert(ctx context.Context, k Key) error {
	return a.s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.affected(ctx, "insert key", insertKey, k.columns()...)
		return err
	})
}

const selectKey = `SELECT id, name, tenant, scopes, hash, created_at, expires_at, revoked_at FROM api_key `

// ByHash finds the key whose secret has this hash.
func (a APIKeys) ByHash(ctx context.Context, hash string) (Key, error) {
	keys, err := a.find(ctx, selectKey+`WHERE hash = $1`, hash)
	if err != nil {
		return Key{}, err
	}
	if len(keys) == 0 {
		return Key{}, KeyNotFound()
	}
	return keys[0], nil
}

// ByID returns those of the keys that exist, in no order.
func (a APIKeys) ByID(ctx context.Context, ids []string) ([]Key, error) {
	in, arg := idSubquery(1, ids)
	return a.find(ctx, selectKey+`WHERE id IN `+in, arg)
}

// KeyNotFound is the answer for a key that does not exist.
func KeyNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "key_not_found", Msg: "There is no such key."}
}

// List returns all keys, oldest first.
func (a APIKeys) List(ctx context.Context) ([]Key, error) {
	return a.find(ctx, selectKey+`ORDER BY created_at, id`)
}

func (a APIKeys) find(ctx context.Context, query string, args ...any) ([]Key, error) {
	return collect(ctx, a.s.queries, "read keys", scanKey, query, args...)
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

// Revoke makes a key invalid from the given time on. Revoking a key twice keeps
// the first time.
func (a APIKeys) Revoke(ctx context.Context, id string, at time.Time) error {
	return a.s.InTx(ctx, func(tx *Tx) error { return tx.revokeKey(ctx, id, at) })
}

func (q queries) revokeKey(ctx context.Context, id string, at time.Time) error {
	n, err := q.affected(ctx, "revoke key",
		`UPDATE api_key SET revoked_at = COALESCE(revoked_at, $1) WHERE id = $2`, millis(at), id)
	if err == nil && n == 0 {
		return KeyNotFound()
	}
	return err
}

// Adopt makes k the only valid key of its name. If a key with the same hash
// exists, it is not inserted again: under the same name it becomes valid even if
// it was revoked, under another name it is left unchanged.
func (a APIKeys) Adopt(ctx context.Context, k Key) error {
	return a.s.InTx(ctx, func(tx *Tx) error {
		if _, err := tx.affected(ctx, "revoke former keys",
			`UPDATE api_key SET revoked_at = $1 WHERE name = $2 AND hash <> $3 AND revoked_at IS NULL`,
			millis(k.CreatedAt), k.Name, k.Hash); err != nil {
			return err
		}
		_, err := tx.affected(ctx, "adopt key", insertKey+`
			ON CONFLICT (hash) DO UPDATE SET revoked_at = NULL WHERE api_key.name = excluded.name`, k.columns()...)
		return err
	})
}

// SigningKey is a key that signs upload and playback URLs.
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

// RemoveSigningKey deletes a signing key. URLs that it signed become invalid.
func (t *Tx) RemoveSigningKey(ctx context.Context, id string) error {
	_, err := t.affected(ctx, "remove signing key", `DELETE FROM signing_key WHERE id = $1`, id)
	return err
}
