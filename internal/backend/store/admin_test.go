package store_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
)

// Keys that had all scopes before there was admin get it; others do not.
func TestAdminMigration(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "spool.db")
	st := opened(t, store.OpenSQLite, path)
	for id, scopes := range map[string][]string{
		"all": {"read", "write", "delete"}, "mixed": {"delete", "read", "write"}, "some": {"read", "write"}, "one": {"read"},
	} {
		if err := st.APIKeys().Insert(ctx, store.Key{ID: id, Hash: id, Scopes: scopes, CreatedAt: noon}); err != nil {
			t.Fatal(err)
		}
	}
	err := st.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM migration WHERE name = '0081_admin.sql'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := opened(t, store.OpenSQLite, path).APIKeys().List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		want := k.ID == "all" || k.ID == "mixed"
		if got := slices.Contains(k.Scopes, "admin"); got != want {
			t.Errorf("the key %q has %v; want admin: %t", k.ID, k.Scopes, want)
		}
	}
}
