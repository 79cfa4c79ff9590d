package tenants

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// noon is a time that the store can keep exactly.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"minutes count on their day", testMinutes},
		{"limits are set and listed", testLimits},
		{"the last place is taken once", testLastPlace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func TestTenantsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx := t.Context()
		_, errPage := pageOfTenants(ctx, tx.Queries, "a", 10, noon)
		_, errUsage := UsageOf(ctx, tx.Queries, "a", noon)
		return errors.Join(errPage, errUsage, setLimits(ctx, tx, "a", video.Limits{}), AddLength(ctx, tx, "a", time.Second, noon))
	})
}

// change runs f in a transaction that has to succeed.
func change(t *testing.T, st *store.Store, f func(*store.Tx) error) {
	t.Helper()
	if err := st.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// newVideo returns a video that waits for its upload.
func newVideo() video.Video {
	return video.Video{
		ID: video.ID(uuid.NewString()), Tenant: video.DefaultTenant, Filename: "film.mp4", Status: video.PendingUpload,
		CreatedAt: noon, UploadExpiresAt: noon.Add(time.Hour),
	}
}

func testMinutes(t *testing.T, st *store.Store) {
	ctx := t.Context()
	add := func(d time.Duration, at time.Time) {
		change(t, st, func(tx *store.Tx) error { return AddLength(ctx, tx, video.DefaultTenant, d, at) })
	}
	want := func(minutes float64, at time.Time) {
		t.Helper()
		if u, err := UsageOf(ctx, st.Queries, video.DefaultTenant, at); err != nil || u.MinutesToday() != minutes {
			t.Errorf("at %s there are %v minutes, %v; want %v", at, u.MinutesToday(), err, minutes)
		}
	}
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	add(90*time.Second, noon)
	add(time.Minute, midnight.Add(-time.Millisecond))
	want(2.5, noon)
	want(0, midnight)
	add(30*time.Second, midnight.In(time.FixedZone("west", -8*3600)))
	want(0.5, midnight.Add(time.Hour))
}

func testLimits(t *testing.T, st *store.Store) {
	ctx := t.Context()
	change(t, st, func(tx *store.Tx) error { return tx.InsertVideo(ctx, newVideo()) })
	change(t, st, func(tx *store.Tx) error { return tx.LockTenant(ctx, "zoo") }) // as a new key does
	limits := video.Limits{Videos: 1, Bytes: 1 << 40, MinutesPerDay: 2.5, InWork: 4}
	for _, name := range []video.Tenant{"acme", video.DefaultTenant} {
		change(t, st, func(tx *store.Tx) error { return setLimits(ctx, tx, name, limits) })
	}
	want := []Tenant{
		{Name: "acme", Usage: video.Usage{Limits: limits}},
		{Name: video.DefaultTenant, Usage: video.Usage{Videos: 1, Limits: limits}},
		{Name: "zoo"},
	}
	got, err := listTenants(ctx, st.Queries, noon)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("List: %v (-want +got):\n%s", err, diff)
	}
}

func testLastPlace(t *testing.T, st *store.Store) {
	ctx := t.Context()
	change(t, st, func(tx *store.Tx) error {
		return setLimits(ctx, tx, video.DefaultTenant, video.Limits{Videos: 3})
	})
	var all sync.WaitGroup
	results := make(chan error, 8)
	for range cap(results) {
		all.Go(func() {
			results <- st.InTx(ctx, func(tx *store.Tx) error {
				if err := tx.InsertVideo(ctx, newVideo()); err != nil {
					return err
				}
				u, err := UsageOf(ctx, tx.Queries, video.DefaultTenant, noon)
				if err != nil {
					return err
				}
				return u.CheckCreate()
			})
		})
	}
	all.Wait()
	made := 0
	for range cap(results) {
		if err := <-results; err == nil {
			made++
		} else {
			if e, ok := errors.AsType[*video.Error](err); !ok || e.Code != "quota_exceeded" {
				t.Errorf("a create beyond the limit: %v; want quota_exceeded", err)
			}
		}
	}
	if u, err := UsageOf(ctx, st.Queries, video.DefaultTenant, noon); err != nil || made != 3 || u.Videos != 3 {
		t.Errorf("%d of 8 creates passed and %d videos count, %v; want 3", made, u.Videos, err)
	}
}
