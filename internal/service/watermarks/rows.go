package watermarks

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// notFound is the answer for a watermark that does not exist.
func notFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "watermark_not_found", Msg: "There is no such watermark."}
}

// insert stores a watermark, unless its tenant has as many as it may have.
func insert(ctx context.Context, tx *store.Tx, w Watermark, png []byte) error {
	// Of two requests for the last place, one waits here for the other.
	if err := tx.LockTenant(ctx, w.Tenant); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM watermark WHERE tenant = $1 AND deleted_at IS NULL`, w.Tenant).Scan(&n); err != nil {
		return store.Wrap("count watermarks", err)
	}
	if n >= MaxPerTenant {
		return &video.Error{Kind: video.Conflict, Code: "limit_reached", Msg: fmt.Sprintf("A tenant has at most %d watermarks. Delete one first.", MaxPerTenant)}
	}
	_, err := tx.Exec(ctx, "insert watermark", `
		INSERT INTO watermark (id, tenant, name, width, height, picture, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		w.ID, w.Tenant, w.Name, w.Width, w.Height, base64.StdEncoding.EncodeToString(png), store.Millis(w.CreatedAt))
	return err
}

const selectWatermark = `SELECT id, tenant, name, width, height, created_at FROM watermark WHERE deleted_at IS NULL AND tenant = $1 `

func scan(row *sql.Rows) (w Watermark, err error) {
	var created sql.NullInt64
	err = row.Scan(&w.ID, &w.Tenant, &w.Name, &w.Width, &w.Height, &created)
	w.CreatedAt = store.FromMillis(created)
	return w, err
}

// list returns the watermarks of a tenant, oldest first.
func list(ctx context.Context, q store.Queries, tenant video.Tenant) ([]Watermark, error) {
	return store.Collect(ctx, q, "list watermarks", scan, selectWatermark+`ORDER BY created_at, id`, tenant)
}

// find returns a watermark of a tenant.
func find(ctx context.Context, q store.Queries, tenant video.Tenant, id video.WatermarkID) (Watermark, error) {
	found, err := store.Collect(ctx, q, "read watermark", scan, selectWatermark+`AND id = $2`, tenant, id)
	if err == nil && len(found) == 0 {
		err = notFound()
	}
	if err != nil {
		return Watermark{}, err
	}
	return found[0], nil
}

// PictureOf returns the picture of a watermark, deleted or not, as a PNG.
func PictureOf(ctx context.Context, q store.Queries, id video.WatermarkID) ([]byte, error) {
	found, err := store.Collect(ctx, q, "read the picture of a watermark", func(row *sql.Rows) (text string, err error) {
		return text, row.Scan(&text)
	}, `SELECT picture FROM watermark WHERE id = $1`, id)
	if err == nil && len(found) == 0 {
		err = notFound()
	}
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(found[0])
}

// markDeleted hides a watermark of a tenant.
func markDeleted(ctx context.Context, tx *store.Tx, tenant video.Tenant, id video.WatermarkID, now time.Time) error {
	n, err := tx.Exec(ctx, "delete watermark", `UPDATE watermark SET deleted_at = $1 WHERE id = $2 AND tenant = $3 AND deleted_at IS NULL`,
		store.Millis(now), id, tenant)
	if err == nil && n == 0 {
		return notFound()
	}
	return err
}

// removeUnused removes watermarks that were deleted before a time and that no video names.
func removeUnused(ctx context.Context, tx *store.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, "remove unused watermarks", `
		DELETE FROM watermark WHERE deleted_at < $1 AND NOT EXISTS (SELECT 1 FROM video WHERE watermark_id = watermark.id)`,
		store.Millis(before))
	return err
}

// usualOf returns what the new videos of a tenant get that choose no watermark; nil: none.
func usualOf(ctx context.Context, q store.Queries, tenant video.Tenant) (*video.WatermarkChoice, error) {
	found, err := store.Collect(ctx, q, "read the usual watermark", func(row *sql.Rows) (text sql.NullString, err error) {
		return text, row.Scan(&text)
	}, `SELECT watermark FROM tenant WHERE name = $1`, tenant)
	if err != nil || len(found) == 0 || !found[0].Valid {
		return nil, err
	}
	choice := new(video.WatermarkChoice)
	return choice, json.Unmarshal([]byte(found[0].String), choice)
}

// setUsual replaces it. The caller has locked the tenant.
func setUsual(ctx context.Context, tx *store.Tx, tenant video.Tenant, choice *video.WatermarkChoice) error {
	var text any
	if choice != nil {
		encoded, err := json.Marshal(choice)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	_, err := tx.Exec(ctx, "set the usual watermark", `UPDATE tenant SET watermark = $1 WHERE name = $2`, text, tenant)
	return err
}
