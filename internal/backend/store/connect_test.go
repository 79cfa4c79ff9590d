package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// databases open an empty one of each kind.
var databases = map[string]func(t *testing.T) *Store{
	"sqlite": func(t *testing.T) *Store {
		return opened(OpenSQLiteAt(t.Context(), filepath.Join(t.TempDir(), "spool.db"), KnownMigrations()))(t)
	},
	"postgres": func(t *testing.T) *Store {
		return opened(OpenPostgresAt(t.Context(), pgtest.Fresh(t), KnownMigrations()))(t)
	},
}

func opened(s *Store, err error) func(*testing.T) *Store {
	return func(t *testing.T) *Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// The rows of an older version are stored in its own schema. Later migrations then change them.
func TestOlderRowsAreMigrated(t *testing.T) {
	t.Parallel()
	schema, err := migrations.ReadFile("migrations/0001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	newer := fstest.MapFS{
		"migrations/0001_schema.sql": {Data: schema},
		"migrations/0002_admin.sql":  {Data: []byte(`UPDATE api_key SET scopes = scopes || ',admin'`)},
	}
	path := filepath.Join(t.TempDir(), "spool.db")
	s := opened(openSQLiteWith(t.Context(), path, subset{newer, []string{"0001_schema.sql"}}))(t)
	if err := s.InTx(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(t.Context(), "store a key", `INSERT INTO api_key (id, name, tenant, scopes, hash, created_at) VALUES ('k', 'n', 't', 'read', 'h', 1)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = opened(openSQLiteWith(t.Context(), path, newer))(t)
	var scopes string
	if err := s.QueryRow(t.Context(), `SELECT scopes FROM api_key`).Scan(&scopes); err != nil || scopes != "read,admin" {
		t.Errorf("the scopes are %q, %v; want the one that a migration adds", scopes, err)
	}
}

// A build from before the first release had other migrations.
func TestAnUnreleasedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	old := fstest.MapFS{"migrations/0001_videos.sql": {Data: []byte(`CREATE TABLE video (id TEXT PRIMARY KEY)`)}}
	file, address := filepath.Join(t.TempDir(), "spool.db"), pgtest.Fresh(t)
	for name, at := range map[string]struct {
		make, open func() (*Store, error)
	}{
		"sqlite": {
			func() (*Store, error) { return openSQLiteWith(t.Context(), file, old) },
			func() (*Store, error) { return OpenSQLite(t.Context(), file) },
		},
		"postgres": {
			func() (*Store, error) { return openPostgresWith(t.Context(), address, defaultTimeouts, old) },
			func() (*Store, error) { return OpenPostgres(t.Context(), address) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			opened(at.make())(t)
			_, err := at.open()
			if !errors.Is(err, migrate.ErrUnreleased) || !strings.Contains(err.Error(), "start with an empty database") {
				t.Errorf("opened: %v; want it refused with what to do", err)
			}
		})
	}
}

func TestASnapshotSeesOneMoment(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := open(t), t.Context()
			insert := func(id video.ID) {
				v := video.Video{ID: id, Tenant: "t", Status: video.PendingUpload, CreatedAt: time.UnixMilli(1), UploadExpiresAt: time.UnixMilli(1)}
				if err := s.InTx(ctx, func(tx *Tx) error { return tx.InsertVideo(ctx, v) }); err != nil {
					t.Fatal(err)
				}
			}
			insert("a")
			view, err := OpenSnapshot(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close()
			insert("b")
			if page, err := view.Videos(ctx, "", 10); err != nil || len(page) != 1 || page[0].ID != "a" {
				t.Errorf("the view has %v, %v; want a alone", page, err)
			}
		})
	}
}
