package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// oldDatabase is a database as a Spool without an index of metadata has left it.
type oldDatabase struct {
	driver, at    string
	open          opener
	breaks, mends string // keep videos from being marked as indexed
}

func oldDatabases(t *testing.T, test func(t *testing.T, d oldDatabase)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, oldDatabase{driver: "sqlite", at: fresh(t), open: store.OpenSQLite,
			breaks: `CREATE TRIGGER crash BEFORE UPDATE OF labelled ON video BEGIN SELECT RAISE(ABORT, 'crash'); END`, mends: `DROP TRIGGER crash`})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, oldDatabase{driver: "pgx", at: pgtest.Fresh(t), open: store.OpenPostgres,
			breaks: `ALTER TABLE video ADD CONSTRAINT crash CHECK (labelled IS NULL) NOT VALID`, mends: `ALTER TABLE video DROP CONSTRAINT crash`})
	})
}

// fill stores n videos as the older Spool did.
func (d oldDatabase) fill(t *testing.T, n int) {
	t.Helper()
	db, err := sql.Open(d.driver, d.at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	old := fstest.MapFS{}
	names, err := fs.Glob(store.Migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(store.Migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		if name = name[len("migrations/"):]; name < "0009" {
			old[name] = &fstest.MapFile{Data: text}
		}
	}
	if _, err := migrate.Up(t.Context(), db, "store", old); err != nil {
		t.Fatal(err)
	}
	insertOld(t, db, 0, n)
}

// insertOld runs the statement of a process that does not know of labels.
func insertOld(t *testing.T, db *sql.DB, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		_, err := db.ExecContext(t.Context(), `
			INSERT INTO video (id, tenant, filename, content_type, is_public, upscale, metadata, thumbnails, status, created_at, upload_expires_at)
			VALUES ($1, $2, 'film.mp4', 'video/mp4', TRUE, FALSE, $3, '[]', 'ready', $4, 0)`,
			videoNumber(i), video.DefaultTenant, fmt.Sprintf(`{"album":"old","n":%d}`, i), noon.Add(time.Duration(i)*time.Second).UnixMilli())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wantFound checks that a search finds the first n videos, newest first, and one of them alone.
func wantFound(t *testing.T, st *store.Store, n int) {
	t.Helper()
	album, number := video.Label{Key: "album", Value: "old"}, video.Label{Key: "n", Value: "1"}
	var all []video.ID
	for i := range n {
		all = append(all, videoNumber(n-1-i))
	}
	for _, tt := range []struct {
		labels []video.Label
		want   []video.ID
	}{{[]video.Label{album}, all}, {[]video.Label{album, number}, []video.ID{videoNumber(1)}}} {
		if got := search(t, st, tt.labels); !slices.Equal(got, tt.want) {
			t.Errorf("a search for %v finds %v, want %v", tt.labels, got, tt.want)
		}
	}
}

// search reads all pages of a search: on a slow machine there are several.
func search(t *testing.T, st *store.Store, labels []video.Label) (ids []video.ID) {
	t.Helper()
	for after, more := (video.Cursor{}), true; more; more = after != (video.Cursor{}) {
		page, next, err := st.Videos(t.Context(), video.DefaultTenant, video.Filter{Labels: labels}, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page {
			ids = append(ids, v.ID)
		}
		after = next
	}
	return ids
}

func backfill(t *testing.T, st *store.Store, want int) {
	t.Helper()
	if n, err := st.Labels().Backfill(t.Context(), 4); err != nil || n != want {
		t.Errorf("%d videos were indexed, %v; want %d", n, err, want)
	}
}

// Videos from before the index are found at once, and indexed little by little, while older
// processes go on storing others.
func TestVideosFromBeforeTheIndex(t *testing.T) {
	t.Parallel()
	oldDatabases(t, func(t *testing.T, d oldDatabase) {
		d.fill(t, 6)
		st := opened(t, d.open, d.at)
		wantFound(t, st, 6)
		backfill(t, st, 4)
		wantFound(t, st, 6)
		insertOld(t, st.Writer(), 6, 8)
		wantFound(t, st, 8)
		backfill(t, st, 4)
		backfill(t, st, 0)
		wantFound(t, st, 8)
	})
}

// A process that dies while it indexes leaves nothing half done: another one goes on with the
// videos that are left.
func TestIndexingSurvivesACrash(t *testing.T) {
	t.Parallel()
	oldDatabases(t, func(t *testing.T, d oldDatabase) {
		d.fill(t, 10)
		first, err := d.open(t.Context(), d.at)
		if err != nil {
			t.Fatal(err)
		}
		backfill(t, first, 4)
		run(t, first, d.breaks)
		if n, err := first.Labels().Backfill(t.Context(), 4); err == nil {
			t.Errorf("%d videos were indexed although that is impossible", n)
		}
		wantFound(t, first, 10)
		run(t, first, d.mends)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := first.Labels().Backfill(ctx, 4); err == nil {
			t.Errorf("%d videos were indexed after the end", n)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := opened(t, d.open, d.at)
		if n := rows(t, second); n != 8 {
			t.Errorf("the index has %d rows, want 8", n)
		}
		wantFound(t, second, 10)
		for _, n := range []int{4, 2, 0} {
			backfill(t, second, n)
			wantFound(t, second, 10)
		}
		if n := rows(t, second); n != 20 {
			t.Errorf("the index has %d rows, want 20", n)
		}
	})
}

func rows(t *testing.T, st *store.Store) (n int) {
	t.Helper()
	if err := st.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM label`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSearchesHaveConnectionsOfTheirOwn lets searches use all they may use.
func TestSearchesHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, st := range map[string]*store.Store{"SQLite": open(t, fresh(t)), "PostgreSQL": openPostgres(t, migrated.Fresh(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range st.Searcher().Stats().MaxOpenConnections {
				conn, err := st.Searcher().Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
			}
			if err := st.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if err := insert(t.Context(), st, someVideo("a")); err != nil {
				t.Error(err)
			}
			if _, _, err := st.Videos(t.Context(), video.DefaultTenant, video.Filter{}, video.Cursor{}, 10); err != nil {
				t.Error(err)
			}
			f := video.Filter{Labels: []video.Label{{Key: "a", Value: "x"}}}
			if _, _, err := st.Videos(t.Context(), video.DefaultTenant, f, video.Cursor{}, 10); video.KindOf(err) != video.Unavailable || !strings.Contains(err.Error(), "as many searches") {
				t.Errorf("a search too many = %v, want it refused", err)
			}
		})
	}
}
