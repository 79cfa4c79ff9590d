package catalog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

// databaseTest is a test of lists. It gets a database of its own, which is empty.
type databaseTest struct {
	name string
	run  func(*testing.T, *store.Store)
}

// eachDatabase runs tests on SQLite and on PostgreSQL.
func eachDatabase(t *testing.T, tests []databaseTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func newVideo(names ...video.Name) video.Video { return storetest.NewVideo(names...) }

func insert(t *testing.T, st *store.Store, v video.Video) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error { return Insert(t.Context(), tx, v) })
}

// read returns a video that has to be there, with its plan.
func read(t *testing.T, st *store.Store, id video.ID) video.Video {
	t.Helper()
	v, err := st.VideoWithPlan(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// listVideos returns a page of a list.
func listVideos(t *testing.T, st *store.Store, tenant video.Tenant, f video.Filter, after video.Cursor, limit int) (page []video.Video, next video.Cursor, err error) {
	err = st.Read(t.Context(), func(q store.Queries) (err error) {
		page, next, err = reader{q}.list(t.Context(), tenant, f, after, limit)
		return err
	})
	return page, next, err
}

func videosByIDs(t *testing.T, st *store.Store, ids []video.ID) (all []video.Video, sums map[video.ID][]store.Step, err error) {
	err = st.Read(t.Context(), func(q store.Queries) (err error) {
		all, sums, err = reader{q}.videosByID(t.Context(), ids)
		return err
	})
	return all, sums, err
}

// wantVideo checks that the database holds exactly v.
func wantVideo(t *testing.T, st *store.Store, v video.Video) {
	t.Helper()
	v.SizeBytes = v.Size()
	if diff := cmp.Diff(v, read(t, st, v.ID)); diff != "" {
		t.Errorf("video is not what was stored (-want +got):\n%s", diff)
	}
}

// wantIDs compares ids in their order.
func wantIDs(t *testing.T, got []video.ID, err error, want ...video.ID) {
	t.Helper()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ids = %q, %v; want %q", got, err, want)
	}
}
