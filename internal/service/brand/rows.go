package brand

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// read returns the brand of a tenant, which may have none.
func read(ctx context.Context, q store.Queries, tenant video.Tenant) (b Brand, err error) {
	err = q.QueryRow(ctx, `SELECT name, url, color, logo, icon FROM brand WHERE tenant = $1`, tenant).Scan(&b.Name, &b.URL, &b.Color, &b.Logo, &b.Icon)
	if errors.Is(err, sql.ErrNoRows) {
		return Brand{}, nil
	}
	return b, store.Wrap("read brand", err)
}

// write stores a brand with its new pictures, and removes pictures that neither it nor the one before has.
func write(ctx context.Context, tx *store.Tx, tenant video.Tenant, b Brand, pictures map[string][]byte, before Brand) error {
	_, err := tx.Exec(ctx, "write brand", `
		INSERT INTO brand (tenant, name, url, color, logo, icon) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant) DO UPDATE SET name = excluded.name, url = excluded.url, color = excluded.color, logo = excluded.logo, icon = excluded.icon`,
		tenant, b.Name, b.URL, b.Color, b.Logo, b.Icon)
	if err != nil {
		return err
	}
	for name, picture := range pictures {
		_, err := tx.Exec(ctx, "write picture of brand", `INSERT INTO brand_picture (tenant, name, picture) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			tenant, name, base64.StdEncoding.EncodeToString(picture))
		if err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "remove pictures of brand", `DELETE FROM brand_picture WHERE tenant = $1 AND name NOT IN ($2, $3, $4, $5)`,
		tenant, b.Logo, b.Icon, before.Logo, before.Icon)
	return err
}

// readPicture returns a picture by its name.
func readPicture(ctx context.Context, q store.Queries, name string) ([]byte, error) {
	var text string
	err := q.QueryRow(ctx, `SELECT picture FROM brand_picture WHERE name = $1 LIMIT 1`, name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is no such picture."}
	}
	if err != nil {
		return nil, store.Wrap("read picture of brand", err)
	}
	picture, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("decode picture of brand: %w", err)
	}
	return picture, nil
}
