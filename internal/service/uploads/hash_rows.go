package uploads

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding"
	"encoding/hex"
	"errors"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// insertHash stores the hash of a new upload, in the place of the one before.
func insertHash(ctx context.Context, tx *store.Tx, id video.ID, h *runningHash) error {
	state, err := stateOf(h)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "begin the hash of an upload", `
		INSERT INTO upload_hash (video_id, token, bytes, state) VALUES ($1, $2, $3, $4)
		ON CONFLICT (video_id) DO UPDATE SET token = EXCLUDED.token, bytes = EXCLUDED.bytes, state = EXCLUDED.state, etag = '', sha256 = ''`,
		id, h.token, h.bytes, state)
	return err
}

// insertWholeHash stores the hash of a file that is in place. From then on it does not follow an upload any more.
func insertWholeHash(ctx context.Context, tx *store.Tx, id video.ID, etag, sum string) error {
	_, err := tx.Exec(ctx, "store the hash of an upload", `
		INSERT INTO upload_hash (video_id, token, bytes, state, etag, sha256) VALUES ($1, '', 0, '', $2, $3)
		ON CONFLICT (video_id) DO UPDATE SET token = '', bytes = 0, state = '', etag = EXCLUDED.etag, sha256 = EXCLUDED.sha256`,
		id, etag, sum)
	return err
}

// readHash reads the hash of the first bytes of an upload. It returns nil if another number is hashed, or none.
func readHash(ctx context.Context, q store.Queries, id video.ID, bytes int64) (*runningHash, error) {
	h := &runningHash{Hash: sha256.New(), begun: bytes, bytes: bytes}
	var text string
	err := q.QueryRow(ctx, `SELECT token, state FROM upload_hash WHERE video_id = $1 AND bytes = $2 AND token <> ''`, id, bytes).Scan(&h.token, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Wrap("read the hash of an upload", err)
	}
	state, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return h, h.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
}

// saveHash stores how far a hash is. If the row is not as it was read, two requests wrote to the upload, and the hash
// is lost.
func saveHash(ctx context.Context, tx *store.Tx, id video.ID, h *runningHash) error {
	state, err := stateOf(h)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "store the hash of an upload", `UPDATE upload_hash SET bytes = $1, state = $2 WHERE video_id = $3 AND token = $4 AND bytes = $5`,
		h.bytes, state, id, h.token, h.begun)
	if err != nil || n > 0 {
		return err
	}
	return dropHash(ctx, tx, id)
}

// dropHash removes the hash of an upload. Only a new upload has another one.
func dropHash(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, err := tx.Exec(ctx, "remove the hash of an upload", `DELETE FROM upload_hash WHERE video_id = $1`, id)
	return err
}

// takeHash removes and returns the hash of an uploaded file; "" if that is not known.
func takeHash(ctx context.Context, tx *store.Tx, id video.ID, etag string) (sum string, err error) {
	err = tx.QueryRow(ctx, `SELECT sha256 FROM upload_hash WHERE video_id = $1 AND etag = $2`, id, etag).Scan(&sum)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", store.Wrap("read the hash of an upload", err)
	}
	return sum, dropHash(ctx, tx, id)
}

// stateOf returns the state of a hash as text.
func stateOf(h *runningHash) (string, error) {
	state, err := h.Hash.(encoding.BinaryMarshaler).MarshalBinary()
	return hex.EncodeToString(state), err
}
