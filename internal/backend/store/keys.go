package store

import (
	"cmp"
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
	MadeBy    string    // the key that made it over the API; empty: the operator made it
}

const insertKey = `
		INSERT INTO api_key (id, name, tenant, scopes, hash, created_at, expires_at, revoked_at, made_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

// columns are what insertKey stores.
func (k Key) columns() []any {
	return []any{k.ID, k.Name, k.Tenant, strings.Join(k.Scopes, ","), k.Hash, Millis(k.CreatedAt), Millis(k.ExpiresAt), Millis(k.RevokedAt), k.MadeBy}
}

// APIKeys is the part of the store that authentication needs. Each method is a
// transaction of its own.
type APIKeys struct{ s *Store }

// APIKeys returns the API keys of this store.
func (s *Store) APIKeys() APIKeys { return APIKeys{s} }

// Insert stores a key. A key with the same hash is an error.
func (a APIKeys) Insert(ctx context.Context, k Key) error {
	return a.s.InTx(ctx, func(tx *Tx) error {
		if err := tx.lockTenant(ctx, k.Tenant); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "insert key", insertKey, k.columns()...)
		return err
	})
}

// InsertMade stores a key that another key makes, unless most such keys of its tenant are valid
// already. If the other key was revoked in the meantime, it is not found. Of those that are no longer valid, it keeps the newest, as many as kept says: otherwise
// somebody who makes and revokes keys for ever would fill the database.
func (a APIKeys) InsertMade(ctx context.Context, k Key, most, kept int) (inserted bool, err error) {
	err = a.s.InTx(ctx, func(tx *Tx) (err error) {
		inserted, err = tx.insertMade(ctx, k, most, kept)
		return err
	})
	return inserted && err == nil, err
}

func (t *Tx) insertMade(ctx context.Context, k Key, most, kept int) (inserted bool, err error) {
	if err := t.lockTenant(ctx, k.Tenant); err != nil {
		return false, err
	}
	// It changes nothing, but waits for whoever is revoking the maker.
	if valid, err := t.Exec(ctx, "hold the maker of a key",
		`UPDATE api_key SET made_by = made_by WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
		k.MadeBy, Millis(k.CreatedAt)); err != nil || valid == 0 {
		return false, cmp.Or(err, error(KeyNotFound()))
	}
	var n int
	if err := t.db.QueryRowContext(ctx, `
		SELECT count(*) FROM api_key WHERE tenant = $1 AND made_by <> '' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
		k.Tenant, Millis(k.CreatedAt)).Scan(&n); err != nil || n >= most {
		return false, Wrap("count keys", err)
	}
	if _, err := t.Exec(ctx, "remove old keys", `
		DELETE FROM api_key WHERE id IN (
			SELECT id FROM api_key WHERE tenant = $1 AND made_by <> '' AND (revoked_at IS NOT NULL OR expires_at <= $2)
			 ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $3)`, k.Tenant, Millis(k.CreatedAt), kept); err != nil {
		return false, err
	}
	_, err = t.Exec(ctx, "insert key", insertKey, k.columns()...)
	return err == nil, err
}

const selectKey = `SELECT id, name, tenant, scopes, hash, created_at, expires_at, revoked_at, made_by FROM api_key `

// Of lists at most limit keys of a tenant that are not revoked, newest first, from after on.
func (a APIKeys) Of(ctx context.Context, tenant video.Tenant, after video.Cursor, limit int) ([]Key, error) {
	where, args := `WHERE tenant = $1 AND revoked_at IS NULL`, []any{tenant, limit}
	if after != (video.Cursor{}) {
		where, args = where+` AND (created_at, id) < ($3, $4)`, append(args, Millis(after.CreatedAt), after.ID)
	}
	return a.find(ctx, selectKey+where+` ORDER BY created_at DESC, id DESC LIMIT $2`, args...)
}

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
	in, arg := IDList(1, ids)
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
	return Collect(ctx, a.s.Queries, "read keys", scanKey, query, args...)
}

func scanKey(row *sql.Rows) (Key, error) {
	var k Key
	var scopes string
	var created, expires, revoked sql.NullInt64
	err := row.Scan(&k.ID, &k.Name, &k.Tenant, &scopes, &k.Hash, &created, &expires, &revoked, &k.MadeBy)
	if scopes != "" { // no scope, where Split would return an empty one
		k.Scopes = strings.Split(scopes, ",")
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = FromMillis(created), FromMillis(expires), FromMillis(revoked)
	return k, err
}

// Revoke makes a key invalid from the given time on. Revoking a key twice keeps
// the first time.
func (a APIKeys) Revoke(ctx context.Context, id string, at time.Time) error {
	return a.s.InTx(ctx, func(tx *Tx) error { return tx.revokeKey(ctx, id, at) })
}

func (q Queries) revokeKey(ctx context.Context, id string, at time.Time) error {
	n, err := q.Exec(ctx, "revoke key",
		`UPDATE api_key SET revoked_at = COALESCE(revoked_at, $1) WHERE id = $2`, Millis(at), id)
	if err == nil && n == 0 {
		return KeyNotFound()
	}
	return err
}

// RevokeOf makes a key of a tenant invalid from the given time on. One that is revoked already is not
// found.
func (a APIKeys) RevokeOf(ctx context.Context, tenant video.Tenant, id string, at time.Time) error {
	return a.s.InTx(ctx, func(tx *Tx) error { return tx.revokeKeyOf(ctx, tenant, id, at) })
}

func (q Queries) revokeKeyOf(ctx context.Context, tenant video.Tenant, id string, at time.Time) error {
	n, err := q.Exec(ctx, "revoke key",
		`UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND tenant = $3 AND revoked_at IS NULL`, Millis(at), id, tenant)
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
		if err := tx.lockTenant(ctx, k.Tenant); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "revoke former keys",
			`UPDATE api_key SET revoked_at = $1 WHERE name = $2 AND hash <> $3 AND revoked_at IS NULL`,
			Millis(k.CreatedAt), k.Name, k.Hash); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "adopt key", insertKey+`
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
	_, err := t.Exec(ctx, "insert signing key",
		`INSERT INTO signing_key (id, secret, created_at) VALUES ($1, $2, $3)`,
		k.ID, hex.EncodeToString(k.Secret), Millis(k.CreatedAt))
	return err
}

// SigningKeys lists all signing keys, newest first.
func (q Queries) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	return Collect(ctx, q, "read signing keys", scanSigningKey,
		`SELECT id, secret, created_at FROM signing_key ORDER BY created_at DESC, id DESC`)
}

func scanSigningKey(row *sql.Rows) (SigningKey, error) {
	var k SigningKey
	var secret string
	var created sql.NullInt64
	if err := row.Scan(&k.ID, &secret, &created); err != nil {
		return k, err
	}
	k.CreatedAt = FromMillis(created)
	var err error
	if k.Secret, err = hex.DecodeString(secret); err != nil {
		return k, fmt.Errorf("signing key %s: %w", k.ID, err)
	}
	return k, nil
}

// RemoveSigningKey deletes a signing key. URLs that it signed become invalid.
func (t *Tx) RemoveSigningKey(ctx context.Context, id string) error {
	_, err := t.Exec(ctx, "remove signing key", `DELETE FROM signing_key WHERE id = $1`, id)
	return err
}
