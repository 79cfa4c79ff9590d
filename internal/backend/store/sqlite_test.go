package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/video"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func someVideo(id video.ID) video.Video {
	return video.Video{
		ID: id, Tenant: video.DefaultTenant, Filename: "film.mp4", ContentType: "video/mp4",
		Status: video.Processing, CreatedAt: noon, UploadExpiresAt: noon.Add(time.Hour),
		Resolutions: []video.Resolution{
			{ID: video.ResolutionID(id + "-720p"), VideoID: id, Name: "720p", Status: video.Processing},
			{ID: video.ResolutionID(id + "-144p"), VideoID: id, Name: "144p", Status: video.Processing},
		},
	}
}

func insert(ctx context.Context, st *store.Store, v video.Video) error {
	return st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, v) })
}

func TestReopening(t *testing.T) {
	t.Parallel()
	path := fresh(t)
	for _, id := range []video.ID{"a", "b", "c"} { // each round opens what the one before has closed
		st, err := store.OpenSQLite(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := insert(t.Context(), st, someVideo(id)); err != nil {
			t.Fatal(err)
		}
		for before := video.ID("a"); before <= id; before = video.ID(before[0] + 1) {
			if v, err := st.Video(t.Context(), before); err != nil || len(v.Resolutions) != 2 {
				t.Errorf("in round %s: video %s = %+v, %v", id, before, v, err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A start whose process was killed leaves a file that was never closed.
func TestReopeningWithoutClosing(t *testing.T) {
	t.Parallel()
	path := fresh(t)
	st := open(t, path)
	if err := insert(t.Context(), st, someVideo("a")); err != nil {
		t.Fatal(err)
	}
	snapshot := t.TempDir() // what another machine would find on the disk now
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(snapshot, "spool.db"+suffix), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := open(t, filepath.Join(snapshot, "spool.db")).Video(t.Context(), "a"); err != nil || len(v.Resolutions) != 2 {
		t.Errorf("after the crash: %+v, %v", v, err)
	}
}

func TestManyStartersAtOnce(t *testing.T) {
	t.Parallel()
	checkManyStarters(t, store.OpenSQLite, fresh(t))
}

// checkManyStarters opens a new database several times at once.
func checkManyStarters(t *testing.T, open opener, at string) {
	t.Helper()
	var starting sync.WaitGroup
	for i := range 4 {
		starting.Go(func() {
			st, err := open(t.Context(), at)
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			if err := insert(t.Context(), st, someVideo(video.ID('a'+rune(i)))); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	ids, err := allIDs(t.Context(), opened(t, open, at))
	if err != nil || len(ids) != 4 {
		t.Errorf("videos %q, %v; want one of each starter", ids, err)
	}
}

func allIDs(ctx context.Context, st *store.Store) (ids []video.ID, err error) {
	rows, err := st.Writer().QueryContext(ctx, `SELECT id FROM video ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id video.ID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), fresh(t)
	st := open(t, path)
	guests := fstest.MapFS{"migrations/0001_guest.sql": {Data: []byte(`CREATE TABLE guest (id TEXT PRIMARY KEY)`)}}
	for range 2 {
		if err := st.Migrate(ctx, "guests", guests); err != nil {
			t.Fatal(err)
		}
	}
	run(t, st, `INSERT INTO guest (id) VALUES ('x')`)
	open(t, path) // does not know the guests, and leaves them alone

	run(t, st, `INSERT INTO migration (set_name, name, applied_at) VALUES ('store', '9998_future.sql', 1)`)
	if older := open(t, path); !slices.Equal(older.Newer(), []string{"store/9998_future.sql"}) {
		t.Errorf("Newer = %q; want to hear of what is not known", older.Newer())
	}
	run(t, st, `INSERT INTO migration (set_name, name, applied_at) VALUES ('store', '9999_future.breaking.sql', 1)`)
	if newer, err := store.OpenSQLite(ctx, path); !errors.Is(err, migrate.ErrNewer) {
		t.Errorf("OpenSQLite = %v, %v; want %v", newer, err, migrate.ErrNewer)
	}
}

// Operators choose the folder, so the path may hold anything that means
// something in a URL.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"with space.db", "per%41cent.db", "que?ry=1.db", "ha#sh.db", "a&b=c;d.db", "naïve 🎬.db", "back\\slash.db", "co:lon.db", "+plus.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, name)
			st := open(t, path)
			if err := insert(t.Context(), st, someVideo("a")); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Video(t.Context(), "a"); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the database is somewhere else: %v", err)
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	open(t, "spool.db")
	if _, err := os.Stat(filepath.Join(dir, "spool.db")); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(text, []byte("Dear database, I regret to inform you that I am a letter."), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a file that is no database": text, "a folder that is missing": filepath.Join(dir, "no", "spool.db"), "a folder": dir,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if st, err := store.OpenSQLite(t.Context(), path); err == nil {
				t.Errorf("OpenSQLite succeeded: %v", st.Close())
			}
		})
	}
	if content, err := os.ReadFile(text); err != nil || content[0] != 'D' {
		t.Errorf("the file that is no database was changed: %q, %v", content, err)
	}
}
