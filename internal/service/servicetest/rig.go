package servicetest

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/sqlitetest"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Base is what addresses start with.
const Base = "http://spool.test"

// Start is when the clock of a rig begins.
var Start = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// Rig is all services on real parts, with a clock that the test turns.
type Rig struct {
	*Services
	T     *testing.T
	Store *store.Store
	Queue queue.Queue
	Blobs *disk.Store // what the services see may be wrapped
	Dir   string      // of Blobs
	By    auth.Actor

	OnPoint func(failpoint.Point) // may be set by a test

	mu    sync.Mutex
	clock time.Time
}

// Measuring has finished videos compared with their source.
func Measuring(c *Config) { c.MeasureQuality = true }

// Resumable has resumable uploads live two days, and those in one request an hour.
func Resumable(c *Config) {
	c.Uploads.ResumableURLTTL, c.Uploads.MaxResumableBytes = 48*time.Hour, 1<<30
}

// Database is a file with the schemas of the store and of the queue on SQLite.
var Database = sqlitetest.Template{Prepare: func(ctx context.Context, st *store.Store) error {
	return st.Migrate(ctx, "queue", local.Migrations)
}}

// New returns a rig on SQLite and a local disk.
func New(t *testing.T, options ...func(*Config)) *Rig {
	t.Helper()
	return NewOn(t, func(s *disk.Store) blob.Store { return s }, options...)
}

// NewOn returns a rig whose services see another object store.
func NewOn(t *testing.T, wrap func(*disk.Store) blob.Store, options ...func(*Config)) *Rig {
	t.Helper()
	r := &Rig{T: t, clock: Start}
	var err error
	r.Store, err = store.OpenSQLite(t.Context(), Database.Fresh(t))
	r.Must(err)
	t.Cleanup(func() { r.Store.Close() })
	r.Queue = local.New(r.Store.Writer(), local.Options{})
	t.Cleanup(func() { r.Queue.Stop(context.Background()) })
	r.wire(wrap, options)
	return r
}

// NewPostgres returns a rig like a process of a fleet. Nobody works there.
func NewPostgres(t *testing.T, address string, wrap func(*disk.Store) blob.Store) *Rig {
	t.Helper()
	r := &Rig{T: t, clock: time.Now()}
	var err error
	r.Store, err = store.OpenPostgres(t.Context(), address)
	r.Must(err)
	t.Cleanup(func() { r.Store.Close() })
	r.Queue, err = river.Open(t.Context(), r.Store, river.Options{})
	r.Must(err)
	r.wire(wrap, []func(*Config){func(c *Config) { c.AbandonedAfter = time.Hour }})
	return r
}

// wire builds the services on the database of the rig and a new object store.
func (r *Rig) wire(wrap func(*disk.Store) blob.Store, options []func(*Config)) {
	r.T.Helper()
	c := Config{Uploads: uploads.Config{URLTTL: time.Hour, MaxBytes: 1 << 20}, AbandonedAfter: 24 * time.Hour, KeepSource: true}
	for _, o := range options {
		o(&c)
	}
	var err error
	r.Dir = filepath.Join(r.T.TempDir(), "objects")
	r.Blobs, err = disk.Open(r.Dir, disk.Options{})
	r.Must(err)
	r.Services, err = Wire(r.T.Context(), c, Parts{
		Store: r.Store, Queue: r.Queue, Blobs: wrap(r.Blobs), Now: r.Now, Stills: c.Stills, PicturesDir: filepath.Join(r.T.TempDir(), "pictures"),
		Hook: func(p failpoint.Point) {
			if r.OnPoint != nil {
				r.OnPoint(p)
			}
		},
	})
	r.Must(err)
	r.By = r.Actor(auth.Key{})
}

// Now is the time of the rig.
func (r *Rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock
}

// Advance turns the clock.
func (r *Rig) Advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

// Must fails the test on an error.
func (r *Rig) Must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}

// Actor creates a key and returns who uses it.
func (r *Rig) Actor(k auth.Key) auth.Actor {
	r.T.Helper()
	secret, _, err := r.Keys.Create(r.T.Context(), k)
	r.Must(err)
	by, err := r.Keys.Authenticate(r.T.Context(), secret)
	r.Must(err)
	return by
}

// Video returns a video as it is stored, with its plan.
func (r *Rig) Video(id video.ID) video.Video {
	r.T.Helper()
	v, err := r.Store.VideoWithPlan(r.T.Context(), id)
	r.Must(err)
	return v
}
