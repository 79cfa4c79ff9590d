package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func TestMigrationCountsTenants(t *testing.T) {
	t.Parallel()
	checkTenantMigration(t, store.OpenSQLite, fresh(t))
}

func TestPostgresMigrationCountsTenants(t *testing.T) {
	t.Parallel()
	checkTenantMigration(t, store.OpenPostgres, migrated.Fresh(t))
}

// checkTenantMigration makes a database that had videos before it had tenants.
func checkTenantMigration(t *testing.T, open func(context.Context, string) (*store.Store, error), address string) {
	ctx := t.Context()
	st := opened(t, open, address)
	err := st.InTx(ctx, func(tx *store.Tx) error {
		for _, row := range []struct {
			id, tenant, status       string
			completed, deleted, size any
			duration                 any
		}{
			{"waiting", "a", "pending_upload", nil, nil, nil, nil},
			{"working", "a", "processing", noon.UnixMilli(), nil, 100, int64(90e6)},
			{"ready", "a", "ready", noon.Add(-time.Hour).UnixMilli(), nil, 20, int64(30e6)},
			{"yesterday", "a", "ready", noon.Add(-24 * time.Hour).UnixMilli(), nil, 3, int64(600e6)},
			{"refused", "a", "fail", nil, nil, nil, nil},
			{"corrupt", "a", "fail", noon.UnixMilli(), nil, 4000, nil},
			{"deleted", "a", "ready", noon.UnixMilli(), noon.UnixMilli(), 50000, int64(900e6)},
			{"another", "b", "processing", noon.UnixMilli(), nil, 7, nil},
		} {
			if _, err := tx.ExecContext(ctx, `
				INSERT INTO video (id, tenant, status, completed_at, deleted_at, source_size, duration_us,
				                   filename, content_type, is_public, upscale, thumbnails, created_at, upload_expires_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, 'f', 'video/mp4', FALSE, FALSE, '[]', 0, 0)`,
				row.id, row.tenant, row.status, row.completed, row.deleted, row.size, row.duration); err != nil {
				return err
			}
		}
		for _, statement := range []string{
			`INSERT INTO api_key (id, name, tenant, scopes, hash, created_at) VALUES ('k', 'n', 'c', '', 'h', 0)`,
			`INSERT INTO api_key (id, name, tenant, scopes, hash, created_at) VALUES ('l', 'n', 'c', '', 'i', 0)`,
			`DROP TABLE tenant`,
			`DELETE FROM migration WHERE name = '0010_tenant.sql'`,
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.TenantsOf(opened(t, open, address)).List(ctx, noon)
	want := []store.Tenant{
		{Name: "a", Usage: video.Usage{Videos: 5, Bytes: 4123, InWork: 1, LengthToday: 2 * time.Minute}},
		{Name: "b", Usage: video.Usage{Videos: 1, Bytes: 7, InWork: 1}},
		{Name: "c"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("after the migration: %v (-want +got):\n%s", err, diff)
	}
}
