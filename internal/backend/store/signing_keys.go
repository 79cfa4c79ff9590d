package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"
)

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
