package backup_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/servicetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// place is an empty database and storage.
type place struct {
	t        testing.TB
	postgres string // else SQLite
	dir      string
	blobs    blob.Store
}

// onDisk is a place on SQLite and a disk.
func onDisk(t testing.TB) *place {
	t.Helper()
	dir := t.TempDir()
	blobs, err := disk.Open(filepath.Join(dir, "objects"), disk.Options{})
	must(t, err)
	t.Cleanup(func() { blobs.Close() })
	return &place{t: t, dir: dir, blobs: blobs}
}

// onServers is a place on PostgreSQL and S3.
func onServers(t testing.TB) *place {
	t.Helper()
	server := s3test.Start(t)
	for _, variable := range server.Environment() {
		name, value := cut(variable)
		must(t, os.Setenv(name, value))
	}
	blobs, err := s3.Open(t.Context(), server.URL(server.Bucket(t), "copy"), s3.Options{})
	must(t, err)
	return &place{t: t, postgres: pgtest.Fresh(t), dir: t.TempDir(), blobs: blobs}
}

// onPostgres is a place on PostgreSQL and a disk.
func onPostgres(t testing.TB) *place {
	t.Helper()
	p := onDisk(t)
	p.postgres = pgtest.Fresh(t)
	return p
}

func cut(variable string) (name, value string) {
	for i, c := range variable {
		if c == '=' {
			return variable[:i], variable[i+1:]
		}
	}
	return variable, ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *place) path() string { return filepath.Join(p.dir, "spool.db") }

func (p *place) target() *backup.Target {
	return &backup.Target{Blobs: p.blobs, Examine: p.examine, Create: p.create, Open: p.open}
}

func (p *place) examine(ctx context.Context) (found backup.Found, err error) {
	if _, err := os.Stat(p.path()); p.postgres == "" && err != nil {
		return found, nil
	}
	db, err := p.connect(ctx)
	if err != nil {
		return found, err
	}
	found, err = backup.Examine(ctx, db)
	return found, errors.Join(err, db.Close())
}

func (p *place) connect(ctx context.Context) (*store.Store, error) {
	if p.postgres != "" {
		return store.ConnectPostgres(ctx, p.postgres)
	}
	return store.ConnectSQLite(ctx, p.path())
}

func (p *place) create(ctx context.Context, migrations []string) (*store.Store, error) {
	found, err := p.examine(ctx)
	if err != nil {
		return nil, err
	}
	if found.Unfinished {
		db, err := p.connect(ctx)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(backup.DropTables(ctx, db), db.Close()); err != nil {
			return nil, err
		}
	}
	if p.postgres != "" {
		return store.OpenPostgresAt(ctx, p.postgres, migrations)
	}
	return store.OpenSQLiteAt(ctx, p.path(), migrations)
}

func (p *place) open(ctx context.Context) (*store.Store, queue.Queue, error) {
	if p.postgres != "" {
		db, err := store.OpenPostgres(ctx, p.postgres)
		if err != nil {
			return nil, nil, err
		}
		q, err := river.Open(ctx, db, river.Options{})
		return db, q, err
	}
	db, err := store.OpenSQLite(ctx, p.path())
	if err != nil {
		return nil, nil, err
	}
	return db, local.New(db.Writer(), local.Options{}), db.Migrate(ctx, "queue", local.Migrations)
}

// source opens what was filled, as the source of another copy.
func (p *place) source() backup.Source {
	p.t.Helper()
	db, q, err := p.open(p.t.Context())
	must(p.t, err)
	p.t.Cleanup(func() { db.Close() })
	return backup.Source{Store: db, Queue: q, Blobs: p.blobs}
}

func sourceOf(r *servicetest.Rig) backup.Source {
	return backup.Source{Store: r.Store, Queue: r.Queue, Blobs: r.Blobs}
}

// contents returns all objects of videos, by their checksums.
func contents(t testing.TB, blobs blob.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for info, err := range blobs.List(t.Context(), "") {
		must(t, err)
		if area, _, _, ok := objects.Parse(info.Key); !ok || area == "owner" {
			continue
		}
		o, err := blobs.Open(t.Context(), info.Key)
		must(t, err)
		sum := sha256.New()
		_, err = io.Copy(sum, o)
		must(t, err)
		o.Close()
		all[info.Key] = fmt.Sprintf("%x", sum.Sum(nil))
	}
	return all
}

// meddler calls f before it lists the objects under a prefix for the first time.
type meddler struct {
	blob.Store
	at string
	f  func()
}

func (m *meddler) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	if f := m.f; f != nil && prefix == m.at {
		m.f = nil
		f()
	}
	return m.Store.List(ctx, prefix)
}

// tagsIn returns how many videos in a database have each tag.
func (l library) tagsIn(st *store.Store) string {
	l.T.Helper()
	all, err := store.Collect(l.T.Context(), st.Queries, "read tags", func(row *sql.Rows) (tag string, err error) {
		return tag, row.Scan(&tag)
	}, `SELECT name || ':' || CAST(videos AS TEXT) FROM tag ORDER BY 1`)
	l.Must(err)
	return strings.Join(all, " ")
}

// wantOtherOwner wants a copy to be another database than its original, which alone owns its storage.
func wantOtherOwner(t *testing.T, l library, copied backup.Source) {
	t.Helper()
	mine, err := copied.Store.Identity(t.Context(), "none")
	must(t, err)
	original, err := l.Store.Identity(t.Context(), "original")
	must(t, err)
	var markers []string
	for info, err := range copied.Blobs.List(t.Context(), objects.Markers) {
		must(t, err)
		markers = append(markers, info.Key)
	}
	if mine == original || !slices.Equal(markers, []string{objects.Marker(mine)}) {
		t.Errorf("the copy is %s, its storage has the markers %v; the original is %s", mine, markers, original)
	}
}
