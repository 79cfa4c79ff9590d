package auth

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
)

// signingRow is a key that signs upload and playback URLs, as it is stored.
type signingRow struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
}

// insertSigningKey stores a signing key.
func insertSigningKey(ctx context.Context, tx *store.Tx, k signingRow) error {
	_, err := tx.Exec(ctx, "insert signing key",
		`INSERT INTO signing_key (id, secret, created_at) VALUES ($1, $2, $3)`,
		k.ID, hex.EncodeToString(k.Secret), store.Millis(k.CreatedAt))
	return err
}

// allSigningKeys lists all signing keys, newest first.
func allSigningKeys(ctx context.Context, q store.Queries) ([]signingRow, error) {
	return store.Collect(ctx, q, "read signing keys", scanSigningKey,
		`SELECT id, secret, created_at FROM signing_key ORDER BY created_at DESC, id DESC`)
}

func scanSigningKey(row *sql.Rows) (signingRow, error) {
	var k signingRow
	var secret string
	var created sql.NullInt64
	if err := row.Scan(&k.ID, &secret, &created); err != nil {
		return k, err
	}
	k.CreatedAt = store.FromMillis(created)
	var err error
	if k.Secret, err = hex.DecodeString(secret); err != nil {
		return k, fmt.Errorf("signing key %s: %w", k.ID, err)
	}
	return k, nil
}

// removeSigningKey deletes a signing key. URLs that it signed become invalid.
func removeSigningKey(ctx context.Context, tx *store.Tx, id string) error {
	_, err := tx.Exec(ctx, "remove signing key", `DELETE FROM signing_key WHERE id = $1`, id)
	return err
}
