// Package storetest holds the cases that every database behind package store
// has to pass. A new database joins with a test of a few lines:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) *store.Store { return openSomewhereEmpty(t) })
//	}
package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// test is one case of the contract. It gets a store of its own, which is empty.
type test struct {
	name string
	run  func(*testing.T, *store.Store)
}

// Run checks the stores that open returns. Each call of open returns another,
// empty store, and has it closed when the test ends.
func Run(t *testing.T, open func(*testing.T) *store.Store) {
	subjects := []struct {
		name  string
		tests []test
	}{
		{"videos", videoTests()},
		{"statuses", statusTests()},
		{"uploads", uploadTests()},
		{"removal", removalTests()},
		{"steps", stepTests()},
		{"counts of tenants", countTests()},
		{"events", eventTests()},
		{"transactions", transactionTests()},
		{"races", raceTests()},
	}
	for _, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range subject.tests {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					tt.run(t, open(t))
				})
			}
		})
	}
}

// noon is a time that the store can keep exactly.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// NewVideo returns a video that waits for its upload, with a resolution for
// each name.
func NewVideo(names ...video.Name) video.Video {
	v := video.Video{
		ID: video.ID(uuid.NewString()), Tenant: video.DefaultTenant, KeyID: "0198c5b6",
		Filename: "film.mp4", Title: "A film", ContentType: "video/mp4", Status: video.PendingUpload,
		Thumbnails: []float64{}, CreatedAt: noon, UploadExpiresAt: noon.Add(time.Hour),
	}
	for _, n := range names {
		v.Resolutions = append(v.Resolutions, video.Resolution{
			ID: video.ResolutionID(uuid.NewString()), VideoID: v.ID, Name: n, Status: video.PendingUpload,
		})
	}
	return v
}

// Stored stores a new video that stands at status s, and so do its resolutions.
func Stored(t *testing.T, st *store.Store, s video.Status, names ...video.Name) video.Video {
	t.Helper()
	v := NewVideo(names...)
	v.Status = s
	for i := range v.Resolutions {
		v.Resolutions[i].Status = s
	}
	insert(t, st, v)
	return v
}

func insert(t *testing.T, st *store.Store, v video.Video) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error { return tx.InsertVideo(t.Context(), v) })
}

// Change runs f in a transaction that has to succeed.
func Change(t *testing.T, st *store.Store, f func(*store.Tx) error) {
	t.Helper()
	if err := st.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
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

// wantVideo checks that the store holds exactly v.
func wantVideo(t *testing.T, st *store.Store, v video.Video) {
	t.Helper()
	v.SizeBytes = v.Size()
	if diff := cmp.Diff(v, read(t, st, v.ID)); diff != "" {
		t.Errorf("video is not what was stored (-want +got):\n%s", diff)
	}
}

// wantCode checks that err is an error of ours with this code.
func wantCode(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Kind != kind || e.Code != code {
		t.Errorf("error = %v, want %s (%s)", err, code, kind)
	}
}

func wantNoVideo(t *testing.T, st *store.Store, id video.ID) {
	t.Helper()
	v, err := st.Video(t.Context(), id)
	wantCode(t, err, video.NotFound, "video_not_found")
	if diff := cmp.Diff(video.Video{}, v); diff != "" {
		t.Errorf("a video that is not there has contents: %s", diff)
	}
}

// wantIDs compares ids in their order.
func wantIDs(t *testing.T, got []video.ID, err error, want ...video.ID) {
	t.Helper()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ids = %q, %v; want %q", got, err, want)
	}
}

// rawJSON returns a JSON object of about n bytes.
func rawJSON(n int) json.RawMessage {
	return json.RawMessage(`{"note":"` + strings.Repeat("x", n) + `"}`)
}
